# SPDX-License-Identifier: Apache-2.0
"""The machinery behind the benchmark command, one idea a file.

    model       what a workload, a system and a bar are
    arguments   the command line, checked before anything runs
    plan        which systems are measured together
    presence    which programs exist, and what to install for the rest
    program     one run of one program, and the line it prints
    guard       how much of the machine others used meanwhile
    measure     repetitions, taken in turn by the systems of a group
    judge       best, median, ratio, bar
    report      the table and the JSON
    origin      machine, compiler and commit behind the figures
    console     how the steps speak to the user
"""

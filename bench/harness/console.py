# SPDX-License-Identifier: Apache-2.0
"""One way to speak to the user beside the table: a line on stderr that says who speaks."""

import sys


def say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)

"""A child that never answers."""

import sys
import time

if __name__ == "__main__":
    sys.stdin.readline()
    time.sleep(600)

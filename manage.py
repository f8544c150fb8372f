#!/usr/bin/env python
"""The project's commands: `./manage.py help` lists them."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arise_site.settings")
    from arise_site import lending

    lending.run(sys.argv)


if __name__ == "__main__":
    main()

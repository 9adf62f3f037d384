"""What can go wrong, with the text and hint of the command."""

from __future__ import annotations


class FencepostError(Exception):
    """Anything that fencepost refuses or fails at.

    ``message`` says what is wrong, ``hint`` what would be right, and ``place`` where it stands, in a file or a setting.
    """

    #: What the command would exit with.
    exit_code: int = 3

    def __init__(self, message: str, hint: str | None = None, place: str | None = None) -> None:
        super().__init__(message, hint, place)
        self.message = message
        self.hint = hint
        self.place = place

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"


class InputError(FencepostError, ValueError):
    """Something given is wrong."""

    exit_code = 2


class FileError(FencepostError, OSError):
    """A file or folder cannot be read or written."""

    exit_code = 2


class Convicted(FencepostError):
    """A fault was planted and the machine got stuck, which is a violation."""

    exit_code = 1


class InternalError(FencepostError, RuntimeError):
    """A defect of fencepost."""

    exit_code = 3

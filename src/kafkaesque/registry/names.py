"""Subjects and the contexts they are in: `:.eu:ticks-value` is the subject `ticks-value` of `.eu`.

A context is a registry in the registry: it has ids and names of its own. Without one a subject is
in the default context `.`, and is written plainly. `:.eu:` alone stands for the whole context, in
questions of config and mode.
Pure. Above: all of the registry.
"""

from kafkaesque.registry.problems import invalid_subject

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ":.__GLOBAL:"
EVERY_CONTEXT = ":*:"
_RESERVED = ("__GLOBAL", "__EMPTY")


def context_of(subject: str) -> str:
    if subject.startswith(":."):
        end = subject.find(":", 1)
        if end > 0:
            return subject[1:end]
    return DEFAULT_CONTEXT


def plain_name(subject: str) -> str:
    """Without its context."""
    return subject[len(_prefix(context_of(subject))) :] if subject.startswith(":.") else subject


def qualified(context: str, subject: str) -> str:
    """A subject as it is meant by whoever is in that context."""
    if subject.startswith(":"):
        return normal(subject)
    return _prefix(context) + subject


def normal(subject: str) -> str:
    """`:.:x` is `x`: one name for one subject. `:.:` is the default context."""
    return subject[3:] if subject.startswith(":.:") and len(subject) > 3 else subject


def whole_context(context: str) -> str:
    """What config and mode of a context are kept under."""
    return f":{context}:"


def is_whole_context(subject: str) -> bool:
    return subject.startswith(":.") and subject.endswith(":") and subject.count(":") == 2


def context_named(name: str) -> str:
    """`.eu` for `eu`, `.eu` and `:.eu:`."""
    name = name.strip(":")
    return name if name.startswith(".") else "." + name


def require_valid(subject: str) -> None:
    """Raises ProblemError."""
    name = plain_name(subject)
    if not name or name in _RESERVED or any(ord(letter) < 32 for letter in subject):
        raise invalid_subject(subject)


def _prefix(context: str) -> str:
    return "" if context == DEFAULT_CONTEXT else f":{context}:"

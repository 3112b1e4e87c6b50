"""What the registry refuses, in Confluent's numbering: the first three digits are HTTP's status.

Above: decisions/, routes/, app.py.
"""

from collections.abc import Sequence


class ProblemError(Exception):
    """Answered as `{"error_code": …, "message": …}`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return self.code if self.code < 1000 else self.code // 100


def subject_not_found(subject: str) -> ProblemError:
    return ProblemError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> ProblemError:
    return ProblemError(40402, f"Version {version} not found.")


def schema_not_found(which: int | str | None = None) -> ProblemError:
    return ProblemError(40403, "Schema not found" if which is None else f"Schema {which} not found")


def subject_soft_deleted(subject: str) -> ProblemError:
    return ProblemError(
        40404, f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> ProblemError:
    return ProblemError(
        40405, f"Subject '{subject}' was not deleted first before being permanently deleted"
    )


def version_soft_deleted(subject: str, version: int) -> ProblemError:
    return ProblemError(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted. "
        "Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> ProblemError:
    return ProblemError(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently "
        "deleted",
    )


def config_not_set(subject: str) -> ProblemError:
    return ProblemError(
        40408, f"Subject '{subject}' does not have subject-level compatibility configured"
    )


def mode_not_set(subject: str) -> ProblemError:
    return ProblemError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, reasons: Sequence[str]) -> ProblemError:
    return ProblemError(
        40901,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
        f"details: [{'; '.join(reasons)}]",
    )


def resource_is_associated(kind: str, resource: str) -> ProblemError:
    return ProblemError(
        40903, f"An association of type '{kind}' already exists for resource '{resource}'"
    )


def subject_is_associated(subject: str) -> ProblemError:
    return ProblemError(40904, f"An association already exists for subject '{subject}'")


def subject_is_strongly_associated(subject: str) -> ProblemError:
    return ProblemError(40905, f"A strong association already exists for subject '{subject}'")


def no_active_version(subject: str) -> ProblemError:
    return ProblemError(40907, f"No active (non-deleted) version exists for subject '{subject}'")


def association_frozen(kind: str, subject: str) -> ProblemError:
    return ProblemError(
        40908, f"The association of type '{kind}' is frozen for subject '{subject}'"
    )


def invalid_schema(reason: str) -> ProblemError:
    return ProblemError(42201, f"Invalid schema: {reason}")


def invalid_version(version: str) -> ProblemError:
    return ProblemError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def invalid_level(level: object) -> ProblemError:
    return ProblemError(
        42203,
        f"Invalid compatibility level {level!r}. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode(mode: object) -> ProblemError:
    return ProblemError(
        42204,
        f"Invalid mode {mode!r}. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT "
        "and FORWARD",
    )


def not_permitted(reason: str) -> ProblemError:
    return ProblemError(42205, reason)


def reference_exists(subject: str, version: int) -> ProblemError:
    return ProblemError(
        42206,
        f"One or more references exist to version {version} of subject '{subject}': delete the "
        f"schemas that /subjects/{subject}/versions/{version}/referencedby lists first",
    )


def id_does_not_match(schema_id: int, known: int) -> ProblemError:
    return ProblemError(
        42207,
        f"The schema is registered with id {known}, not with the id {schema_id} of the request",
    )


def invalid_subject(subject: str) -> ProblemError:
    return ProblemError(42208, f"The specified subject '{subject}' is not a valid subject.")


def schema_too_large(reason: str) -> ProblemError:
    return ProblemError(42209, reason)


def context_not_empty(context: str) -> ProblemError:
    return ProblemError(42211, f"The specified context '{context}' is not empty.")


def invalid_association(field: str, reason: str) -> ProblemError:
    return ProblemError(42212, f"The association is not valid: {field} {reason}")


def unreadable(reason: str) -> ProblemError:
    return ProblemError(400, f"The request cannot be read: {reason}")


def not_stored(reason: str) -> ProblemError:
    return ProblemError(50001, f"The schemas' topic did not take it: {reason}")


def too_slow(reason: str) -> ProblemError:
    return ProblemError(50002, reason)

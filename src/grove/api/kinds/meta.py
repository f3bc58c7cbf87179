"""What every kind shares: object metadata, conditions, errors, operations."""

from __future__ import annotations

from typing import Annotated, Literal

from grove.api.fields import Field, Int32, Int64, Struct, Time


class OwnerReference(Struct, frozen=True, kw_only=True):
    """The object that an object belongs to and is deleted with."""

    api_version: Annotated[str, Field("API version of the owner.")]
    kind: Annotated[str, Field("Kind of the owner.")]
    name: Annotated[str, Field("Name of the owner.")]
    uid: Annotated[str, Field("UID of the owner.")]
    controller: Annotated[bool | None, Field("Whether the owner is the managing controller.")] = None
    block_owner_deletion: Annotated[
        bool | None, Field("Whether foreground deletion of the owner waits for this object.")
    ] = None


class ObjectMeta(Struct, frozen=True, kw_only=True):
    """The metadata of an object, as far as Grove reads or writes it."""

    name: Annotated[str, Field("Name of the object, unique in its namespace.")] = ""
    generate_name: Annotated[str | None, Field("Prefix of a name that the API server completes.")] = None
    namespace: Annotated[str | None, Field("Namespace of the object.")] = None
    labels: Annotated[dict[str, str] | None, Field("Labels.")] = None
    annotations: Annotated[dict[str, str] | None, Field("Annotations.")] = None
    uid: Annotated[str | None, Field("Unique id, set by the API server.")] = None
    resource_version: Annotated[str | None, Field("Version of the stored object.")] = None
    generation: Annotated[Int64 | None, Field("Counts the changes of the spec.")] = None
    creation_timestamp: Annotated[Time | None, Field("When the object was created.")] = None
    deletion_timestamp: Annotated[Time | None, Field("When its deletion was asked for.")] = None
    deletion_grace_period_seconds: Annotated[Int64 | None, Field("Seconds left to stop gracefully.")] = None
    finalizers: Annotated[tuple[str, ...], Field("What must be done before the object goes.")] = ()
    owner_references: Annotated[tuple[OwnerReference, ...], Field("Whom the object belongs to.")] = ()


class Condition(Struct, frozen=True, kw_only=True):
    """One observation about an object, in the form of metav1.Condition."""

    type: Annotated[
        str,
        Field(
            "What is observed, in CamelCase.",
            max_length=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]
    status: Annotated[Literal["True", "False", "Unknown"], Field("Whether it holds.")]
    reason: Annotated[
        str,
        Field(
            "Why, in one CamelCase word.",
            min_length=1,
            max_length=1024,
            pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        ),
    ]
    message: Annotated[str, Field("Why, in a sentence for people.", max_length=32768)]
    last_transition_time: Annotated[Time, Field("When the status last changed.")]
    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that was looked at.", minimum=0)] = (
        None
    )


Conditions = Annotated[
    tuple[Condition, ...],
    Field("What is observed about the object, one entry a type.", list_type="map", list_keys=("type",)),
]


class LastError(Struct, frozen=True, kw_only=True):
    """An error of the last reconcile that did not go through."""

    code: Annotated[str, Field("Short name of the error, `ERR_…`.")]
    description: Annotated[str, Field("What went wrong.")]
    observed_at: Annotated[Time, Field("When it was seen.")]


LastErrors = Annotated[
    tuple[LastError, ...], Field("Errors of the last incomplete reconcile; empty once one succeeds.")
]


class LastOperation(Struct, frozen=True, kw_only=True):
    """What the operator last did to the object; written when it starts, ends or fails, not on every pass."""

    type: Annotated[Literal["Reconcile", "Delete"], Field("Which operation.")]
    state: Annotated[Literal["Processing", "Succeeded", "Error"], Field("How far it is.")]
    description: Annotated[str, Field("What it did, or what stopped it.")]
    last_update_time: Annotated[Time, Field("When this was last written.")]


class NamespacedName(Struct, frozen=True, kw_only=True):
    """A reference to an object by namespace and name."""

    namespace: Annotated[str, Field("Namespace of the object.")]
    name: Annotated[str, Field("Name of the object.")]


Replicas = Annotated[Int32, Field(minimum=0)]
Counter = Annotated[Int32, Field(required=True)]
"""A number in a status that is always there: the API server fills in zero."""

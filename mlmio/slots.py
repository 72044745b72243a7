"""The slots that blocks fill, in the order in which they are built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """One place in a formulation.

    Parameters
    ----------
    name : str
        Name of the slot.
    many : bool
        Whether several blocks may fill it.
    required : bool
        Whether a complete composition has a block in it.
    default : str or None
        Block that fills it where it is required and left empty.
    adding : {"relaxes", "restricts", "neutral", "unrelated"}
        What one block more in the slot does to the optimum.
    tightening : bool
        Whether one block more in the slot never raises the LP bound.
    peers : {"equivalent", "unrelated"}
        How two blocks of the slot relate unless they say otherwise.
    """

    name: str
    many: bool = False
    required: bool = False
    default: str | None = None
    adding: str = "unrelated"
    tightening: bool = False
    peers: str = "unrelated"


SLOTS = {
    slot.name: slot
    for slot in (
        Slot("terms", many=True, required=True, adding="relaxes"),
        Slot("cone", adding="restricts"),
        Slot("sparsity", many=True, adding="restricts"),
        # The region comes after all that restricts the parameters alone, so that its largest
        # possible d_min is computed with those restrictions.
        Slot("region", required=True, default="bounded"),
        Slot("loss"),
        Slot("encoding", default="bigm", peers="equivalent"),
        Slot("neighbors", required=True),
        Slot("side", many=True, adding="restricts"),
        # Rows that every solution of the others satisfies: last, so that they know all of them.
        Slot("cuts", many=True, adding="neutral", tightening=True, peers="equivalent"),
    )
}
SLOT_ORDER = {name: position for position, name in enumerate(SLOTS)}

"""What the operator holds of objects that others write too."""

import msgspec

from grove.operator.views import RoleBindingView, RoleView


def test_a_role_without_rules_is_read() -> None:
    """The API server writes null for an empty list; a cache that cannot read it would hold nothing at all."""
    role = msgspec.json.decode(b'{"metadata": {"name": "a"}, "rules": null}', type=RoleView)
    assert not role.rules
    binding = msgspec.json.decode(b'{"metadata": {"name": "a"}, "subjects": null}', type=RoleBindingView)
    assert not binding.subjects

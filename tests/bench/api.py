"""`make bench-api`: what admission, decoding and hashing cost, against reading the same object as plain JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from grove.api import admission, codec, crds, hashes
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from tests.bench.figures import Figure, in_turns, report

EXAMPLE = Path(__file__).parents[2] / "examples/complete-inference-pipeline.yaml"
ROUNDS, REPEATS = 15, 50


def main() -> int:
    policy = Policy()
    tree = admission.review(yaml.safe_load(EXAMPLE.read_text()), policy).admitted
    raw = json.dumps(tree).encode()
    decoded = codec.decode_json(raw, PodCliqueSet)

    plain, typed, encode, review, hashed = (
        seconds / REPEATS * 1e6
        for seconds in in_turns(
            ROUNDS,
            lambda: [json.loads(raw) for _ in range(REPEATS)],
            lambda: [codec.decode_json(raw, PodCliqueSet) for _ in range(REPEATS)],
            lambda: [codec.encode_json(decoded) for _ in range(REPEATS)],
            lambda: [admission.review(tree, policy) for _ in range(REPEATS)],
            lambda: [hashes.generation_hash(decoded.spec.template) for _ in range(REPEATS)],
        )
    )
    largest = max(crds.client_side_size(crd) for crd in crds.all_crds())
    return report(
        "api",
        [
            Figure("typed decoding against json.loads", typed / plain, bar=1),
            Figure("json.loads of a PodCliqueSet of 6 cliques, µs", plain),
            Figure("typed decoding, µs", typed),
            Figure("encoding, µs", encode),
            Figure("admission, schema and webhooks together, µs", review),
            Figure("generation hash, µs", hashed),
            Figure("largest CRD, KiB", largest / 1024, bar=256),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())

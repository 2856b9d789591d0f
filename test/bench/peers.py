"""The same pull by dlt, and by a Singer tap that target-postgres reads. Started by peers.ts in an environment of its own."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from requests.adapters import HTTPAdapter

UPSTREAM = os.environ["BENCH_UPSTREAM"]
PATHS = {
    "scores": "score",
    "biomarkers": "biomarker",
    "archetypes": "archetypes",
    "trends": "insight/trend",
    "comparisons": "insight/comparison",
}
PEOPLE = [f"person-{n + 1}" for n in range(int(os.environ["BENCH_PROFILES"]))]
AT_ONCE = 32
# "append" loads twice what is read twice; "merge" keeps each record once, as we and the Singer target do.
DISPOSITION = os.environ.get("BENCH_DISPOSITION", "append")

session = requests.Session()
session.mount("http://", HTTPAdapter(pool_connections=AT_ONCE, pool_maxsize=AT_ONCE))


def read(stream, person):
    answer = session.get(
        f"{UPSTREAM}/api/v1/profile/{PATHS[stream]}/{person}",
        headers={"authorization": "account account-token"},
        timeout=60,
    )
    answer.raise_for_status()
    return [{"external_id": person, "raw": json.dumps(record), **flat(record)} for record in answer.json()]


def flat(record):
    """Nested values stay in `raw`, as with us: unnesting them into child tables would be more work, not the same."""
    return {name: value for name, value in record.items() if not isinstance(value, (list, dict))}


def tap():
    calls = [(stream, person) for stream in PATHS for person in PEOPLE]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        known = set()
        for (stream, _), records in zip(calls, threads.map(lambda call: read(*call), calls)):
            if stream not in known and records:
                known.add(stream)
                kinds = {str: "string", float: "number", int: "number", bool: "boolean"}
                properties = {name: {"type": [kinds[type(value)], "null"]} for name, value in records[0].items()}
                schema = {"type": "object", "properties": properties}
                key = ["external_id", "id"]
                print(json.dumps({"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": key}))
            for record in records:
                print(json.dumps({"type": "RECORD", "stream": stream, "record": record}))
        print(json.dumps({"type": "STATE", "value": {}}))


def load_with_dlt():
    import dlt

    def resource_of(stream):
        @dlt.resource(name=f"{stream}_people")
        def people():
            yield from PEOPLE

        key = {"primary_key": ["external_id", "id"]} if DISPOSITION == "merge" else {}

        @dlt.transformer(data_from=people, name=stream, parallelized=True, write_disposition=DISPOSITION, **key)
        def records(person):
            return read(stream, person)

        return records

    pipeline = dlt.pipeline("bench", destination="postgres", dataset_name="dlt_bench", pipelines_dir=os.environ["BENCH_FOLDER"])
    pipeline.run([resource_of(stream) for stream in PATHS], loader_file_format="csv")


if __name__ == "__main__":
    {"tap": tap, "dlt": load_with_dlt}[sys.argv[1]]()

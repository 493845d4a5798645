"""Reads what a collector got, with the messages of OpenTelemetry, and finds the way of a purchase in it.

    check.py FILE        one JSON document of OTLP/HTTP a line
"""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# Each name that a purchase's trace has, with that of the span which caused it.
WAY = {
    "job registration": "register", "App Store transaction-info": "job registration",
    "commit": "job registration", "publish inappPurchaseSyncResult": "register",
    "webhook attempt": "register",
}
IDS = ("traceId", "spanId", "parentSpanId")


def with_bytes(value):
    """The same document with ids as Protobuf's JSON has bytes: OTLP writes them as hexadecimal digits."""
    if isinstance(value, dict):
        return {key: base64.b64encode(bytes.fromhex(each)).decode() if key in IDS else with_bytes(each)
                for key, each in value.items()}
    return [with_bytes(each) for each in value] if isinstance(value, list) else value


def spans(line):
    """The spans of a document. A member that OTLP does not have, or one of another type, is an error."""
    request = json_format.ParseDict(with_bytes(json.loads(line)), ExportTraceServiceRequest())
    for resource in request.resource_spans:
        services = [each.value.string_value for each in resource.resource.attributes if each.key == "service.name"]
        assert len(services) == 1 and services[0].startswith("countersign-"), services
        for scope in resource.scope_spans:
            yield from scope.spans


def check(span):
    assert len(span.trace_id) == 16 and any(span.trace_id), span
    assert len(span.span_id) == 8 and any(span.span_id), span
    assert len(span.parent_span_id) in (0, 8), span
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
    assert span.name and span.kind, span


def main(path):
    with open(path) as file:
        found = [span for line in file for span in spans(line)]
    for span in found:
        check(span)
    by_id = {(span.trace_id, span.span_id): span for span in found}
    assert len(by_id) == len(found), "two spans have one id"
    missing = []
    for name, parent in WAY.items():
        parents = {by_id[key].name for span in found if span.name == name
                   for key in [(span.trace_id, span.parent_span_id)] if key in by_id}
        if parent not in parents:
            missing.append(f"no \"{name}\" within \"{parent}\", but within {sorted(parents)}")
    if missing:
        sys.exit("\n".join([*missing, f"the names are {sorted({span.name for span in found})}"]))
    print(f"  {len(found):,} spans in {len({span.trace_id for span in found}):,} traces")


if __name__ == "__main__":
    main(sys.argv[1])

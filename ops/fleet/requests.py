"""Requests of a publisher's backend to the gateway of a running system."""
import http.client
import json

from fleet import Failure


def ask(configuration, method, path, body=None, headers=None):
    """The gateway's answer, read as JSON."""
    host, _, port = configuration.listen["gateway"].rpartition(":")
    link = http.client.HTTPConnection(host, int(port), timeout=20)
    try:
        link.request(method, path, json.dumps(body) if body is not None else None, {
            "X-Publisher-Token": configuration.publisher_token, "Content-Type": "application/json", **(headers or {})})
        answer = link.getresponse()
        text = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise Failure(f"{method} {path} at the gateway failed: {error}") from None
    finally:
        link.close()
    if answer.status >= 300:
        raise Failure(f"{method} {path} was answered {answer.status} {text}")
    return json.loads(text)

"""Requests to the processes of a running system."""
import http.client
import json

from fleet import Failure


def exchange(address, method, path, body=None, headers={}, timeout=120):
    """The status, the text and the headers of the answer; status 0 and the reason without one."""
    # Not with urllib: it would ask a proxy of the environment for 127.0.0.1.
    host, _, port = address.rpartition(":")
    link = http.client.HTTPConnection(host, int(port), timeout=timeout)
    try:
        link.request(method, path, body, headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode(errors="replace"), answer.headers
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error), {}
    finally:
        link.close()


def ask(configuration, method, path, body=None, headers={}):
    """The gateway's answer to a publisher's backend, read as JSON."""
    status, text, _ = exchange(
        configuration.listen["gateway"], method, path, json.dumps(body) if body is not None else None,
        {"X-Publisher-Token": configuration.publisher_token, "Content-Type": "application/json", **headers})
    if status == 0:
        raise Failure(f"{method} {path} at the gateway failed: {text}")
    if status >= 300:
        raise Failure(f"{method} {path} was answered {status} {text}")
    return json.loads(text)

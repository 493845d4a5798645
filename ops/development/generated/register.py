"""Registers a purchase through a client that a generator wrote, and reads its status until it is finalized.

    register.py openapi-python-client|datamodel-code-generator FOLDER

FOLDER has the generated code. API_URL, PUBLISHER_TOKEN and CUSTOMER_ID say where to, and for whom.
"""
import importlib
import os
import pkgutil
import random
import sys
import time

API, TOKEN, CUSTOMER = (os.environ[name] for name in ("API_URL", "PUBLISHER_TOKEN", "CUSTOMER_ID"))
SECONDS = 60


def whole_client(transaction):
    """openapi-python-client writes a package: a function for each operation, and a class for each model."""
    import countersign_client
    # A mistake in any of its files is found, not only one in the files that are used below.
    for module in pkgutil.walk_packages(countersign_client.__path__, "countersign_client."):
        importlib.import_module(module.name)
    from countersign_client.api.purchases import get_synchronization, register_purchase
    from countersign_client.models import Accepted, Purchase, Synchronization
    client = countersign_client.AuthenticatedClient(
        base_url=API, token=TOKEN, prefix="", auth_header_name="X-Publisher-Token", timeout=10,
        httpx_args={"trust_env": False})
    purchase = Purchase(transaction_id=transaction, cleeng_customer_id=int(CUSTOMER))
    answer = register_purchase.sync_detailed(client=client, body=purchase, correlation_id=f"generated-{transaction}")
    expect(answer.status_code == 202 and isinstance(answer.parsed, Accepted), answer)
    identifier = answer.parsed.synchronization_id

    def read():
        answer = get_synchronization.sync_detailed(identifier, client=client)
        expect(answer.status_code == 200 and isinstance(answer.parsed, Synchronization), answer)
        return answer.headers, answer.parsed.status.value, answer.parsed
    status = finalized(identifier, read)
    expect(status.transaction_id == transaction and status.access_granted is True, status)
    return identifier, status.result


def models_only(transaction):
    """datamodel-code-generator writes models; httpx sends and gets their JSON."""
    import countersign_models as models
    import httpx
    client = httpx.Client(base_url=API, headers={"X-Publisher-Token": TOKEN}, timeout=10, trust_env=False)
    purchase = models.Purchase(transactionId=transaction, cleengCustomerId=int(CUSTOMER))
    answer = client.post("/storekit2/purchases", content=purchase.model_dump_json(exclude_none=True), headers={
        "Content-Type": "application/json", "Correlation-Id": f"generated-{transaction}"})
    expect(answer.status_code == 202, answer.text)
    identifier = models.Accepted.model_validate_json(answer.content).synchronizationId.root

    def read():
        answer = client.get(f"/storekit2/purchases/synchronizations/{identifier}")
        expect(answer.status_code == 200, answer.text)
        status = models.Synchronization.model_validate_json(answer.content)
        return answer.headers, status.status.value, status
    status = finalized(identifier, read)
    expect(status.transactionId.root == transaction and status.accessGranted is True, status)
    return identifier, status.result.root


def finalized(identifier, read):
    """The status of a synchronization, as soon as it is finalized."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        headers, state, status = read()
        if state == "finalized":
            return status
        time.sleep(min(float(headers["Retry-After"]), 0.2))
    sys.exit(f"{identifier} is not finalized after {SECONDS} seconds; the last answer was {status}")


def expect(is_so, found):
    if not is_so:
        sys.exit(f"the gateway's answer does not fit the generated model: {found}")


def main():
    _, generator, folder = sys.argv
    sys.path.insert(0, folder)
    register = {"openapi-python-client": whole_client, "datamodel-code-generator": models_only}[generator]
    identifier, result = register(f"100{random.randrange(10**13):013d}")
    expect(result == "PURCHASE_SYNCHRONIZED", result)
    print(f"  {generator}: registered and read {identifier}: {result}")


if __name__ == "__main__":
    main()

"""ops/run: the whole system on this machine."""
import argparse
import json
import sys
import time

from fleet import ROOT, Failure, shown
from fleet.build import build
from fleet.check import TOPIC, Check
from fleet.configuration import CONSOLE_USER, CUSTOMER, PUBLISHER
from fleet.console import check_console
from fleet.processes import Processes, Stopped
from fleet.requests import ask
from fleet.system import System

# The last line of a check, with the seconds that it took.
END = "Everything is there, and everything is stopped again ({:.0f} s)."


def put_customer(configuration):
    """Registers one customer, so that a purchase can name it."""
    ask(configuration, "PUT", f"/customers/{CUSTOMER}", {})


def check_its_console(configuration):
    check_console(configuration.listen["console"], CONSOLE_USER, configuration.console_password, PUBLISHER, CUSTOMER)
    print("The console says why the customer has access.", flush=True)


def invitation(system):
    configuration = system.configuration
    api, token = f"http://{configuration.listen['gateway']}", configuration.publisher_token
    body = json.dumps({"cleengCustomerId": CUSTOMER, "transactionId": "1000000000000001"})
    return f"""
What runs where:

{system.table()}

The console shows why a customer has access. Open it in a browser, and look for {CUSTOMER} after step 2:

  http://{configuration.listen['console']}/   name: {CONSOLE_USER}   password: {configuration.console_password}

Three commands to try, in other terminals:

  1. See the events:

     amqp-consume --url={configuration.rabbitmq} --exclusive --exchange=countersign.events \\
       --routing-key={TOPIC}.{PUBLISHER} awk 1

  2. Register a purchase of customer {CUSTOMER}, who is known already:

     curl -i {api}/storekit2/purchases -H 'X-Publisher-Token: {token}' \\
       -H 'Content-Type: application/json' -H 'Correlation-Id: my-first-purchase' -d '{body}'

  3. Ask what has become of it:

     curl -i {api}/storekit2/purchases/synchronizations/my-first-purchase \\
       -H 'X-Publisher-Token: {token}'

The webhooks that the notifier delivers are in {shown(system.received)}, addresses and secrets for a client of your own
in {shown(system.client_file)}. Ctrl-C stops everything."""


def watch(system):
    while True:
        for reason in system.processes.deaths():
            print(f"\n{reason}\n  The others go on. Ctrl-C stops them; then run ops/run again."
                  "\n  Or start it alone: ops/servers start .countersign/run NAME.", flush=True)
        time.sleep(0.2)


def run(check):
    began = time.monotonic()
    build("--product", "countersign")
    with Processes(ROOT / ".countersign" / "run") as processes:
        # In a check nobody types the address of the gateway.
        system = System(processes, may_move=check)
        try:
            system.start()
            system.start_console()
            if check:
                Check(system).run()
                check_its_console(system.configuration)
            else:
                put_customer(system.configuration)
                print(invitation(system), flush=True)
                watch(system)
        except Stopped:
            print("\nStopping …", flush=True)
            raise
        finally:
            system.stop()
            system.forget()
    print(END.format(time.monotonic() - began), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="ops/run", description="Runs the whole system on this machine.")
    parser.add_argument("--check", action="store_true", help="play one customer's purchase, then stop")
    options = parser.parse_args()
    try:
        run(options.check)
    except Failure as failure:
        print(f"\nops/run: {failure}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    except Stopped as stopped:
        print(f"Stopped. The logs stay in {shown(ROOT / '.countersign' / 'run')}/*.log.", flush=True)
        return 128 + stopped.number
    return 0


if __name__ == "__main__":
    sys.exit(main())

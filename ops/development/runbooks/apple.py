"""Apple, as the simulator plays it."""
import os
import signal

from development.runbooks import first, trial


@first
def rejected(stage):
    """Apple's answers are for another app, or forged (scenarios 143 and 141)"""
    stage.register(143, 200)
    stage.register(141, 200)
    stage.fires("RejectedData", "RejectsMany")
    stage.logs("worker", "verification failed")


@trial
def gave_up(stage):
    """every attempt of a job fails (scenario 132), with a short `worker.retryScheduleSeconds`"""
    stage.register(132, 3)
    stage.fires("GaveUp")
    stage.logs("worker", '"result":"INTERNAL_ERROR"')


@trial
def apple_hangs(stage):
    """Apple hangs: the simulator is stopped (SIGSTOP)"""
    with stage.broken(lambda: os.kill(stage.process("simulator").pid, signal.SIGSTOP),
                      lambda: os.kill(stage.process("simulator").pid, signal.SIGCONT)):
        stage.fires("AppleFails")
        stage.logs("worker", "Apple call failed")


@trial
def wrong_key(stage):
    """Apple refuses the app's key (scenario 123)"""
    stage.register(123)
    stage.fires("AppleRefusesKey")
    stage.logs("worker", "Apple refused the key")
    stage.ready("worker", r"degraded: apple: Apple refuses the key of com.example.app")
    stage.register(100, 20)
    stage.logs("worker", "Apple accepts the key again")


@trial
def budget(stage):
    """more registrations come than Apple's budget allows"""
    stage.register_at_once(100, 200)
    stage.fires("BudgetUsedUp")

"""Messages that are no jobs, and jobs that no queue has."""
from development.runbooks import trial


@trial
def malformed(stage):
    """the queues of jobs and of events contain a text that is not a message"""
    stage.publish("countersign.jobs", "no job")
    stage.publish("countersign.notifier", "no delivery")
    stage.fires("DeadJobs", "DeadDeliveries")
    stage.logs("notifier", "delivery buried")


@trial
def dead_queue_fills(stage):
    """a program publishes 10,100 texts that are not jobs into the queue of jobs"""
    stage.publish("countersign.jobs", "no job", 10_100)
    stage.fires("DeadQueueFills")
    stage.logs("worker", "a message is not a job")
    stage.says("dead list --kind jobs --limit 1", r'"cause":"malformed"')
    stage.says("dead bury --kind jobs --cause malformed --dry-run", r'"matching":1\d{4}')
    stage.says("dead bury --kind jobs --cause malformed", r'"buried":1\d{4}')
    stage.ends("DeadQueueFills")


@trial
def swept(stage):
    """RabbitMQ comes back without its data"""
    with stage.broken(lambda: stage.kill("worker 1", "worker 2"), lambda: stage.start("worker 1", "worker 2")):
        stage.register(100, 10)
        stage.servers("stop", "rabbitmq")
        stage.servers("wipe", "rabbitmq")
        stage.servers("start", "rabbitmq")
    stage.fires("SweptJobs")
    stage.logs("worker", "enqueued again")

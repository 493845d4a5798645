import CRabbitMQ

extension AMQPConnection {
  /// The version of librabbitmq that the process has loaded.
  public nonisolated static var libraryVersion: String { String(cString: amqp_version()) }
}

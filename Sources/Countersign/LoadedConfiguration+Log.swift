import Domain
import EventLoop
import Observability

extension LoadedConfiguration {
  /// Logs the ``publishedSecrets``, at a start and at a reload.
  @LoopActor func warn(_ log: Log) {
    for place in publishedSecrets { log.warning("a published example secret is in use", ["place": .string(place)]) }
  }

  /// Logs what has changed about publishers' files with mistakes: each mistake once, and its end.
  ///
  /// - Parameter old: the publishers in use before.
  @LoopActor func tellBroken(_ log: Log, after old: Publishers = Publishers([])) {
    let change = BrokenPublisher.Change(from: old.broken, to: publishers.broken)
    for broken in change.new.prefix(Self.mostTold) {
      log.error(
        broken.isKept
          ? "a publisher's file has a mistake; still using the old file"
          : "a publisher's file has a mistake; the publisher is absent",
        [
          "file": .string(broken.file), "publisherId": .string(broken.id.map(String.init) ?? "unknown"),
          "cause": .string(broken.mistakes.joined(separator: "\n")),
        ])
    }
    if change.new.count > Self.mostTold {
      log.error(
        "more publishers' files have mistakes; check-config lists all", ["files": .int(Int64(change.new.count))])
    }
    for file in change.mended.prefix(Self.mostTold) {
      log.info("a publisher's file no longer has a mistake", ["file": .string(file)])
    }
  }

  /// The most files that are told one by one.
  private static let mostTold = 20
}

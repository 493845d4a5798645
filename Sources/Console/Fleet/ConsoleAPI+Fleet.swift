import AppStore
import AppleCalls
import Configuration
import Coordination
import Domain
import EventLoop
import HTTPServer
import Ledger
import Redis
import Service

/// The page about the processes, for operators.
extension ConsoleAPI {
  func fleet(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    var page = FleetPage(view: reader.view, question: question)
    if FleetPage.showsProcesses(to: reader.view.person) {
      page.beats = try await beats.all()
      page.servers = await servers()
    }
    for lane in JobLane.allCases {
      page.lanes.append(
        FleetPage.Lane(lane: lane, open: try await open.count(lane), inLine: try await line.count(lane)))
    }
    let places = Self.places(of: question.publishers.compactMap { context.publishers[$0] }, context.settings.appStore)
    page.hasMoreApps = places.hasMore
    page.budgets = try await budgets.states(of: places.found)
    var answer = reader.answer(html: page.html, json: page.json)
    // A browser without JavaScript asks for it.
    if page.isLive, !reader.isJSON { answer.headers.append(("Refresh", "\(FleetPage.seconds)")) }
    return answer
  }

  /// Asks the ledger and Redis how much they hold. A server that does not answer, or whose account may not ask, says
  /// nothing.
  private func servers() async -> FleetServers {
    var found = FleetServers()
    do {
      found.ledgerBytes = try await ConsoleLedger.size(within: context.settings.console.statementTimeout, postgres)
    } catch {
      log("console could not read the size of the ledger", error)
    }
    if let answer = try? await redis.send(["INFO", "memory"]).string {
      (found.redisBytes, found.redisLimit) = FleetServers.memory(ofInfo: answer)
    }
    return found
  }

  /// The places of publishers' apps with the budgets of all their endpoints.
  private static func places(
    of publishers: [Publisher], _ settings: AppStoreSettings
  ) -> (found: [CallPlace], hasMore: Bool) {
    // Two publishers may name one app: its budget is one.
    var seen: Set<PlaceName> = []
    var found: [CallPlace] = []
    for app in publishers.lazy.flatMap(\.apps) {
      for environment in [Environment.production, .sandbox] where app.environments.contains(environment) {
        let place = CallPlace(
          app.bundleId, in: environment, AppStoreEndpoint.allCases, budgetScale: settings.budgetScale)
        guard seen.insert(place.name).inserted else { continue }
        guard found.count < FleetPage.mostApps else { return (found, true) }
        found.append(place)
      }
    }
    return (found, false)
  }
}

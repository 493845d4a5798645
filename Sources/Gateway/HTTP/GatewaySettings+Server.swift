import Configuration
import HTTPServer

extension GatewaySettings {
  /// Sets what a stranger can hold of the server: its places, its room and its time.
  func limit(_ configuration: inout HTTPServer.Configuration) {
    configuration.maxHeaderBytes = maxHeaderBytes
    configuration.maxConnections = maxConnections
    configuration.maxConnectionsPerAddress = maxConnectionsPerAddress
    configuration.idleTimeout = idleTimeout
    configuration.headTimeout = headTimeout
    configuration.bodyTimeout = bodyTimeout
    configuration.minBodyRate = minBodyRate
    configuration.largeBodyShares.ofHolder = bodySharePerPublisher
    configuration.largeBodyShares.ofAddress = bodySharePerAddress
    let proxies = trustedProxies
    configuration.isProxy = { ClientAddress.isProxy($0, in: proxies) }
    configuration.clientBehindProxy = { proxy, headers in
      let named = headers.filter { $0.name.lowercased() == "x-forwarded-for" }.map(\.value)
      return ClientAddress.of(peer: proxy, forwardedFor: named, behind: proxies)
    }
  }
}

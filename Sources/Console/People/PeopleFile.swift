import Configuration
import EventLoop
import Observability
import Service

/// The files that say who may sign in: the file of users, who have passwords, and that of roles, for the provider's
/// people or the proxy's. One of them at least is there.
@LoopActor
final class PeopleFile {
  private let users: LinesFile<ConsolePeople>?
  private let rolesFile: LinesFile<OpenIDRoles>?
  /// The provider's settings, beside ``roles``.
  let openID: OpenIDSettings?

  /// The people who have a password.
  var people: ConsolePeople { users?.lines ?? ConsolePeople() }
  /// Which of the provider's people, or of the proxy's, may do what.
  var roles: OpenIDRoles? { rolesFile?.lines }
  /// Whether anybody may sign in with a password.
  var hasPasswords: Bool { users != nil }

  /// Reads the files for the first time. It blocks.
  ///
  /// - Throws: ``UnusableFile`` if no setting names one, or if one cannot be read.
  init(_ context: RoleContext) throws(UnusableFile) {
    let settings = context.settings.console
    guard settings.usersFile != nil || settings.openID != nil || settings.proxy != nil else {
      throw UnusableFile(
        description:
          "\(ConsoleSettings.usersFileKey), \(OpenIDSettings.issuerKey) and \(ProxySignInSettings.addressesKey) are "
          + "missing, expected a file with one line for each person, a provider of OpenID Connect, or proxies that "
          + "sign people in")
    }
    openID = settings.openID
    users =
      if let path = settings.usersFile {
        try LinesFile(path, "console users file", ConsoleSettings.usersFileKey, context.log)
      } else { nil }
    rolesFile =
      if let path = settings.openID?.rolesFile {
        try LinesFile(path, "console roles file", OpenIDSettings.rolesFileKey, context.log)
      } else if let path = settings.proxy?.rolesFile {
        try LinesFile(path, "console roles file", ProxySignInSettings.rolesFileKey, context.log)
      } else { nil }
    if let path = settings.usersFile, let warning = PublishedSecrets.warning(ofFile: path) {
      context.log.warning("published secret", ["warning": .string(warning)])
    }
    context.metrics.gauge(
      "countersign_console_users_file_mistakes",
      "Lines of console.usersFile that let nobody in because they cannot be used; 1 if it is the file itself."
    ) { [weak self] in
      Double(self?.people.mistakes.count ?? 0)
    }
    context.metrics.gauge(
      "countersign_console_roles_file_mistakes",
      "Lines of the file of roles that give nobody a role because they cannot be used; 1 if it is the file itself."
    ) { [weak self] in
      Double(self?.roles?.mistakes.count ?? 0)
    }
  }

  /// The services that read them again.
  var chores: [any RoleService] { [users?.chore, rolesFile?.chore].compactMap { $0 } }

  /// Reads them again now.
  func lookNow() {
    users?.chore.lookNow()
    rolesFile?.chore.lookNow()
  }

  /// Reads them again, and waits for it.
  func look() async {
    await users?.look()
    await rolesFile?.look()
  }
}

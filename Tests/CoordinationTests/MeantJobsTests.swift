import Coordination
import Domain
import Testing

/// How a command counts jobs before it changes them.
struct MeantJobsTests {
  private func name(_ id: SynchronizationId, publisher: PublisherId = 1, lane: JobLane = .usual) -> OpenJob.Name {
    OpenJob.Name(lane: lane, publisherId: publisher, synchronizationId: id)
  }

  @Test func `a job that Redis shows twice counts once`() {
    var jobs = MeantJobs(keeping: 10)
    let answers = [name("a"), name("b"), name("a"), name("a", publisher: 2), name("b")].map { jobs.insert($0) }
    #expect(answers == [true, true, false, true, false])
    #expect(jobs.count == 3 && !jobs.isFull)
    #expect(jobs.kept == [name("a"), name("b"), name("a", publisher: 2)])
  }

  @Test func `all are counted, and only as many as may change are kept`() {
    var jobs = MeantJobs(keeping: 1)
    for id in ["a", "b", "c"] {
      let isNew = jobs.insert(name(SynchronizationId(id)))
      #expect(isNew)
    }
    #expect(jobs.count == 3 && jobs.kept == [name("a")])
    var none = MeantJobs(keeping: 0)
    let isNew = none.insert(name("a"))
    #expect(isNew && none.count == 1 && none.kept.isEmpty)
  }

  @Test func `a list that is full says so, and not because of one that it has`() {
    var jobs = MeantJobs(keeping: .max, most: 2)
    for id in ["a", "b"] {
      let isNew = jobs.insert(name(SynchronizationId(id)))
      #expect(isNew)
    }
    let again = jobs.insert(name("a"))
    #expect(!again && !jobs.isFull)
    let other = jobs.insert(name("c"))
    #expect(!other && jobs.isFull && jobs.count == 2 && jobs.kept.count == 2)
  }

  @Test func `the name of an open job is that of its job`() {
    let job = Job(
      synchronizationId: "s", publisherId: 7, customerId: "c", transactionId: "1", lane: .bulk, registeredAt: 0)
    let open = OpenJob(job: job, status: .retrying, cause: nil, place: nil, member: "7:s")
    #expect(open.name == name("s", publisher: 7, lane: .bulk))
  }
}

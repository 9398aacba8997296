// Real processes that are killed, stopped and started again; the real program.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <thread>

#include "tessera/base/filesystem.h"
#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kLongest = std::chrono::seconds(120);  // a test that hangs ends here

std::string build_folder() {
  const char* build = std::getenv("TESSERA_BUILD_DIR");
  return build ? build : "build/release";
}
std::string tessera_program() { return build_folder() + "/bin/tessera"; }
std::string worker_program() { return build_folder() + "/tests/coord_worker"; }

bool until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A child whose output goes to a file.
class Process {
 public:
  Process(std::vector<std::string> command, std::map<std::string, std::string> environment,
          std::string output)
      : output_(std::move(output)) {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  ~Process() {
    if (pid_ > 0) {
      send(SIGKILL);
      wait();
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const {
    CHECK(pid_ > 0);  // kill(-1) would reach every process of the machine
    kill(pid_, signal);
  }
  pid_t pid() const { return pid_; }
  // 128 + n for a signal; -1 when it does not end.
  int wait() {
    int status = 0;
    if (!until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::string output() const {
    PosixFileSystem files;
    const Result<std::string> text = files.read_file(output_);
    return text.ok() ? *text : "";
  }
  bool says(const std::string& text, size_t times = 1) const {
    return until([&] {
      size_t count = 0;
      const std::string all = output();
      for (size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) ++count;
      return count >= times;
    });
  }

 private:
  pid_t pid_ = -1;
  std::string output_;
};

class Processes : public testing::Test {
 protected:
  Processes() {
    folder_ = (std::filesystem::temp_directory_path() / "processes-XXXXXX").string();
    CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~Processes() override {
    workers_.clear();
    coordinator_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<Process> start(const std::vector<std::string>& command,
                                 const std::map<std::string, std::string>& environment = {}) {
    return std::make_unique<Process>(command, environment,
                                     str_cat(folder_, "/output-", outputs_++));
  }
  std::unique_ptr<Process> tessera(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), tessera_program());
    return start(arguments);
  }

  void start_coordinator(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"coordinator", str_cat("--bind=127.0.0.1:", port_)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    coordinator_ = tessera(arguments);
    ASSERT_TRUE(coordinator_->says("listening at")) << coordinator_->output();
    const std::string text = coordinator_->output();
    std::smatch match;
    ASSERT_TRUE(std::regex_search(text, match, std::regex("listening at .*:(\\d+)")));
    port_ = std::stoi(match[1]);
  }
  std::unique_ptr<Process> worker(int process, const std::vector<std::string>& mode,
                                  int processes) {
    std::vector<std::string> command = {worker_program()};
    command.insert(command.end(), mode.begin(), mode.end());
    return start(command, {{"TESSERA_COORDINATOR_ADDRESS", str_cat("127.0.0.1:", port_)},
                           {"TESSERA_NUM_PROCESSES", str_cat(processes)},
                           {"TESSERA_PROCESS_ID", str_cat(process)},
                           {"TESSERA_EXTERNAL_COORDINATOR", "true"}});
  }
  void start_workers(const std::vector<std::string>& mode, int processes) {
    for (int i = 0; i < processes; ++i) workers_.push_back(worker(i, mode, processes));
    for (const auto& worker : workers_) ASSERT_TRUE(worker->says("ready")) << worker->output();
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  int outputs_ = 0;
  int port_ = 0;
  std::unique_ptr<Process> coordinator_;
  std::vector<std::unique_ptr<Process>> workers_;
};

// Spec 3.1.

TEST_F(Processes, Spec31EndNamingTheOneThatWasKilled) {
  start_coordinator({"--processes=4", "--heartbeat-timeout-s=4"});
  start_workers({"idle"}, 4);
  workers_[3]->send(SIGKILL);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(workers_[i]->wait(), 3);
    EXPECT_THAT(workers_[i]->output(),
                AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("no heartbeat for 4s from process 3 (")));
  }
}

TEST_F(Processes, Spec31GoOnWithoutTheKilledOneAndTakeItBack) {
  start_coordinator({"--processes=3", "--recoverable", "--heartbeat-timeout-s=4"});
  start_workers({"live"}, 3);
  ASSERT_TRUE(workers_[0]->says("live: 0 1 2"));
  workers_[1]->send(SIGKILL);
  workers_[1]->wait();
  ASSERT_TRUE(workers_[0]->says("live: 0 2"));
  ASSERT_TRUE(workers_[2]->says("live: 0 2"));
  workers_[1] = worker(1, {"live"}, 3);
  ASSERT_TRUE(workers_[0]->says("live: 0 1 2", 2)) << workers_[0]->output();
  ASSERT_TRUE(workers_[1]->says("live: 0 1 2"));
}

TEST_F(Processes, Spec31EndWhenTheCoordinatorIsKilled) {
  start_coordinator({"--processes=2", "--heartbeat-timeout-s=3"});
  start_workers({"idle"}, 2);
  coordinator_->send(SIGKILL);
  coordinator_->wait();
  for (const auto& worker : workers_) {
    EXPECT_EQ(worker->wait(), 3);
    EXPECT_THAT(worker->output(),
                AllOf(HasSubstr("has not answered for 3s"), HasSubstr("--journal")));
  }
}

// Spec 3.4: one that was stopped for too long is out, and may not come back as what it was.
TEST_F(Processes, Spec34FenceTheOneThatWasStopped) {
  start_coordinator({"--processes=2", "--recoverable", "--heartbeat-timeout-s=3"});
  start_workers({"live"}, 2);
  ASSERT_TRUE(workers_[0]->says("live: 0 1"));
  workers_[1]->send(SIGSTOP);
  ASSERT_TRUE(workers_[0]->says("live: 0\n"));
  workers_[1]->send(SIGCONT);
  EXPECT_EQ(workers_[1]->wait(), 3);
  EXPECT_THAT(workers_[1]->output(), HasSubstr("is not connected: no heartbeat came for 3s"));
  workers_[1] = worker(1, {"live"}, 2);
  ASSERT_TRUE(workers_[0]->says("live: 0 1", 2)) << workers_[0]->output();
}

// A coordinator that was itself stopped blames nobody for it.
TEST_F(Processes, OutliveAPauseOfTheCoordinator) {
  start_coordinator({"--processes=2", "--heartbeat-timeout-s=8"});
  start_workers({"count", "3000"}, 2);
  coordinator_->send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  coordinator_->send(SIGCONT);
  for (const auto& worker : workers_) EXPECT_EQ(worker->wait(), 0) << worker->output();
}

TEST_F(Processes, LoseNothingWhileTheCoordinatorIsKilledAgainAndAgain) {
  const std::vector<std::string> options = {"--processes=3", "--heartbeat-timeout-s=30",
                                            "--journal=" + path("journal")};
  start_coordinator(options);
  start_workers({"count", "400"}, 3);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    coordinator_->send(SIGKILL);
    coordinator_->wait();
    start_coordinator(options);
  }
  for (const auto& worker : workers_) {
    EXPECT_EQ(worker->wait(), 0) << worker->output();
    EXPECT_THAT(worker->output(), HasSubstr("count: 1200\n"));
  }
}

TEST_F(Processes, AreToldWhoLivesByACoordinatorThatWasKilledInBetween) {
  const std::vector<std::string> options = {
      "--processes=2", "--recoverable", "--heartbeat-timeout-s=6", "--journal=" + path("journal")};
  start_coordinator(options);
  start_workers({"live"}, 2);
  ASSERT_TRUE(workers_[0]->says("live: 0 1"));
  for (int i = 0; i < 3; ++i) {
    coordinator_->send(SIGKILL);
    coordinator_->wait();
    start_coordinator(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  workers_[1]->send(SIGKILL);
  workers_[1]->wait();
  ASSERT_TRUE(workers_[0]->says("live: 0\n")) << workers_[0]->output();
  workers_[1] = worker(1, {"live"}, 2);
  ASSERT_TRUE(workers_[0]->says("live: 0 1", 2)) << workers_[0]->output();
}

TEST_F(Processes, AreToldThatAPortIsTaken) {
  start_coordinator({"--processes=1"});
  const auto second = tessera({"coordinator", str_cat("--bind=127.0.0.1:", port_)});
  EXPECT_EQ(second->wait(), 1);
  EXPECT_THAT(second->output(), HasSubstr("Address already in use"));
}

// tessera launch.

TEST_F(Processes, AreLaunchedWithTheirNumbersAndLogs) {
  const auto launch = tessera({"launch", "--processes=3", "--devices-per-process=2",
                               "--log-directory=" + path("logs"), "--", "sh", "-c",
                               "echo out $TESSERA_PROCESS_ID of $TESSERA_NUM_PROCESSES with "
                               "$TESSERA_DEVICES_PER_PROCESS; echo err >&2; printf end"});
  EXPECT_EQ(launch->wait(), 0);
  PosixFileSystem files;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(launch->output(), AllOf(HasSubstr(str_cat("[", i, "] out ", i, " of 3 with 2\n")),
                                        HasSubstr(str_cat("[", i, "] err\n")),
                                        HasSubstr(str_cat("[", i, "] end\n"))));
    EXPECT_THAT(*files.read_file(path(str_cat("logs/process-", i, ".log"))),
                AllOf(HasSubstr(str_cat("out ", i, " of 3 with 2\n")), HasSubstr("err\n")));
  }
}

TEST_F(Processes, EndWithTheExitCodeOfTheFirstThatFailed) {
  const auto launch = tessera({"launch", "--processes=3", "--", "sh", "-c",
                               "if [ $TESSERA_PROCESS_ID = 1 ]; then exit 7; fi; sleep 100"});
  EXPECT_EQ(launch->wait(), 7);
  EXPECT_THAT(launch->output(),
              HasSubstr("process 1 failed with exit code 7; stopping the others"));
  const auto killed = tessera({"launch", "--processes=2", "--", "sh", "-c",
                               "if [ $TESSERA_PROCESS_ID = 1 ]; then kill -9 $$; fi; sleep 100"});
  EXPECT_EQ(killed->wait(), 137);
}

// One that another waits for never joined, and ended well; and one ends while all are asked to.
TEST_F(Processes, AreToldOfOneThatEndedWithoutThem) {
  const auto launch = tessera(
      {"launch", "--processes=2", "--", "sh", "-c",
       str_cat("test $TESSERA_PROCESS_ID = 1 || exec ", tessera_program(), " doctor --cluster")});
  EXPECT_EQ(launch->wait(), 1);
  EXPECT_THAT(launch->output(),
              HasSubstr("process 1 ended with exit code 0 before it had left the others"));
}

TEST_F(Processes, AreKilledWhenTheyDoNotStopInTime) {
  const auto launch = tessera(
      {"launch", "--processes=2", "--grace-s=0.2", "--", "sh", "-c",
       str_cat("cd ", folder_,
               "; if [ $TESSERA_PROCESS_ID = 1 ]; then while [ ! -e deaf ]; do sleep 0.02; done; "
               "exit 4; fi; trap '' TERM; touch deaf; sleep 100")});
  EXPECT_EQ(launch->wait(), 4);
  EXPECT_THAT(launch->output(), HasSubstr("killing those that did not stop"));
}

TEST_F(Processes, AreStartedAgainAllTogether) {
  const auto launch = tessera(
      {"launch", "--processes=2", "--on-failure=restart", "--min-processes=2", "--max-restarts=2",
       "--", "sh", "-c",
       "echo start $TESSERA_PROCESS_ID/$TESSERA_RESTART; "
       "if [ $TESSERA_PROCESS_ID = 1 ] && [ $TESSERA_RESTART != 2 ]; then exit 5; fi; sleep 0.3"});
  EXPECT_EQ(launch->wait(), 0) << launch->output();
  // Of the first two attempts process 0 may be stopped before it says anything.
  for (const char* start : {"1/0", "1/1", "0/2", "1/2"}) {
    EXPECT_THAT(launch->output(), HasSubstr(str_cat("start ", start)));
  }
  const auto too_often =
      tessera({"launch", "--on-failure=restart", "--max-restarts=1", "--", "sh", "-c", "exit 5"});
  EXPECT_EQ(too_often->wait(), 5);
}

TEST_F(Processes, AreStartedAgainOneByOneWhereTheyMayComeBack) {
  const auto launch =
      tessera({"launch", "--processes=2", "--max-restarts=1", "--on-failure=elastic",
               "--heartbeat-timeout-s=4", "--", "sh", "-c",
               "echo start $TESSERA_PROCESS_ID/$TESSERA_RESTART; "
               "if [ $TESSERA_PROCESS_ID/$TESSERA_RESTART = 1/0 ]; then exit 5; fi; sleep 0.3"});
  EXPECT_EQ(launch->wait(), 0) << launch->output();
  EXPECT_THAT(launch->output(), AllOf(HasSubstr("start 1/1"), Not(HasSubstr("start 0/1"))));
}

TEST_F(Processes, GetTheSignalsThatLaunchGets) {
  const auto launch =
      tessera({"launch", "--processes=2", "--", "sh", "-c",
               "trap 'echo got it; exit 0' TERM; echo ready; while true; do sleep 0.05; done"});
  ASSERT_TRUE(launch->says("ready", 2));
  launch->send(SIGTERM);
  EXPECT_EQ(launch->wait(), 0) << launch->output();
  EXPECT_THAT(launch->output(), AllOf(HasSubstr("[0] got it"), HasSubstr("[1] got it")));
}

// The numbers that processes wrote into a file, once there are so many.
std::vector<pid_t> pids_in(const std::string& path, size_t count) {
  PosixFileSystem files;
  std::vector<pid_t> pids;
  until([&] {
    pids.clear();
    const std::string text = files.read_file(path).value_or("");
    const std::regex line("pid (\\d+)\n");
    for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
      pids.push_back(std::stoi((*it)[1]));
    }
    return pids.size() == count;
  });
  return pids;
}

void expect_gone(const std::vector<pid_t>& pids) {
  PosixFileSystem files;
  for (const pid_t pid : pids) {
    // Gone, or a zombie that nobody waits for in a container.
    EXPECT_TRUE(until([&] {
      const Result<std::string> stat = files.read_file(str_cat("/proc/", pid, "/stat"));
      return !stat.ok() || stat->find(") Z ") != std::string::npos;
    })) << pid;
  }
}

TEST_F(Processes, DoNotOutliveLaunch) {
  const auto launch = tessera(
      {"launch", "--processes=2", "--", "sh", "-c",
       "sleep 100 & printf 'pid %s\\npid %s\\n' $$ $! >> " + path("pids") + "; wait; true"});
  const std::vector<pid_t> pids = pids_in(path("pids"), 4);  // with what they started
  ASSERT_EQ(pids.size(), 4u);
  launch->send(SIGKILL);
  launch->wait();
  expect_gone(pids);
}

TEST_F(Processes, EndAtASecondRequestWithWhatTheyStarted) {
  const auto launch =
      tessera({"launch", "--processes=2", "--", "sh", "-c",
               "trap '' INT TERM; sleep 100 & printf 'pid %s\\npid %s\\n' $$ $! >> " +
                   path("pids") + "; wait; sleep 100"});
  const std::vector<pid_t> pids = pids_in(path("pids"), 4);
  ASSERT_EQ(pids.size(), 4u) << launch->output();
  launch->send(SIGINT);
  ASSERT_TRUE(launch->says("passing signal 2 on"));
  launch->send(SIGINT);
  EXPECT_EQ(launch->wait(), 130);
  expect_gone(pids);
}

TEST_F(Processes, AreNotStartedWhereTheirPipesWouldBeTooMany) {
  const auto launch = start({"sh", "-c",
                             "ulimit -n 100; exec " + tessera_program() +
                                 " launch --processes=50 -- touch " + path("begun")});
  EXPECT_EQ(launch->wait(), 1);
  EXPECT_THAT(launch->output(), AllOf(HasSubstr("--processes is 50"), HasSubstr("at most 18")));
  EXPECT_FALSE(std::filesystem::exists(path("begun")));
}

TEST_F(Processes, HaveNoCoordinatorAtAnAddressThatIsNone) {
  for (const char* bind : {"nonsense", "127.0.0.1:99999", "[::1"}) {
    const auto coordinator = tessera({"coordinator", "--processes=1", str_cat("--bind=", bind)});
    EXPECT_EQ(coordinator->wait(), 2) << bind;
    EXPECT_THAT(coordinator->output(), AllOf(HasSubstr("--bind"), HasSubstr("host:port")));
  }
}

TEST_F(Processes, CannotBeLaunchedWhereThereIsNoSuchProgram) {
  const auto typo = tessera({"launch", "--", "trian", "recipe.yaml"});
  EXPECT_EQ(typo->wait(), 1);
  EXPECT_THAT(typo->output(), HasSubstr("the nearest is train"));
  const auto launch = tessera({"launch", "--processes=2", "--", "no-such-program"});
  EXPECT_EQ(launch->wait(), 1);
  EXPECT_THAT(launch->output(), HasSubstr("no-such-program cannot be run: No such file"));
}

// tessera doctor --cluster.

TEST_F(Processes, AreMeasuredByDoctor) {
  const auto launch = tessera({"launch", "--processes=3", "--", "doctor", "--cluster"});
  EXPECT_EQ(launch->wait(), 0) << launch->output();
  EXPECT_THAT(launch->output(), AllOf(HasSubstr("[0] cluster of 3 processes (flags)"),
                                      HasSubstr("20 barriers of all"),
                                      HasSubstr("20 all-reduces of 16 MB over 3 devices")));
}

TEST_F(Processes, ThatAreMissingAreNamedByDoctor) {
  const auto doctor = tessera({"doctor", "--cluster", "--coordinator-address=127.0.0.1:0",
                               "--num-processes=3", "--process-id=0", "--connect-timeout-s=0.5"});
  EXPECT_NE(doctor->wait(), 0);
  start_coordinator({"--processes=3"});
  const auto alone = tessera({"doctor", "--cluster", "--external-coordinator",
                              str_cat("--coordinator-address=127.0.0.1:", port_),
                              "--num-processes=3", "--process-id=1", "--connect-timeout-s=3"});
  EXPECT_EQ(alone->wait(), 1);
  EXPECT_THAT(alone->output(), HasSubstr("1 of 3 processes connected within"));
  EXPECT_THAT(alone->output(), HasSubstr("missing: process 0, process 2"));
}

bool is_installed(const std::string& program) {
  return std::system(str_cat("command -v ", program, " >/dev/null 2>&1").c_str()) == 0;
}

TEST_F(Processes, Spec13AreStartedByMpirun) {
  if (!is_installed("mpirun")) GTEST_SKIP() << "mpirun is not installed (openmpi-bin)";
  const auto job =
      start({"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "oob_tcp_if_include",
             "lo", "-n", "2", tessera_program(), "doctor", "--cluster"});
  EXPECT_EQ(job->wait(), 0) << job->output();
  EXPECT_THAT(job->output(), HasSubstr("cluster of 2 processes (openmpi), coordinator 127.0.0.1:"));
}

TEST_F(Processes, Spec13AreStartedBySrun) {
  if (!is_installed("srun") || std::system("timeout 10 sinfo >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no Slurm controller answers here";
  }
  const auto job = start({"srun", "-n", "2", tessera_program(), "doctor", "--cluster"});
  EXPECT_EQ(job->wait(), 0) << job->output();
  EXPECT_THAT(job->output(), HasSubstr("cluster of 2 processes (slurm)"));
}

}  // namespace
}  // namespace tessera::coord

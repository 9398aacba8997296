// bench_coordinator [--clients N] [--seconds S] [--journal FOLDER]
//
// One coordinator in a process of its own, on loopback, and N clients, each with a connection of
// its own, heartbeats and a watch: how long until all have registered, how long a barrier of all
// and a live set of all take, how fast 1 MB of key-values is written and read by all, and what the
// heartbeats alone cost. Prints one JSON line.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/strings.h"
#include "tessera/coord/coord.grpc.pb.h"
#include "tessera/coord/server.h"
#include "tessera/coord/state.h"

namespace tessera::coord {
namespace {

using Time = std::chrono::steady_clock;

std::atomic<bool> is_over{false};  // calls that are open in the end fail, and nobody minds

double since(Time::time_point begin) {
  return std::chrono::duration<double>(Time::now() - begin).count();
}

struct Options {
  int clients = 2000;
  double seconds = 30;
  std::string journal;
};

// The coordinator's side, in a child so that its time and memory can be told apart.
struct Child {
  pid_t pid;
  int port;
};

Result<Child> start_coordinator(const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) return internal_error("no pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    PosixFileSystem files;
    RealClock clock;
    const auto server =
        Server::start({.processes = options.clients, .journal = options.journal}, files, clock);
    const int port = server.ok() ? (*server)->port() : -1;
    if (!server.ok()) std::cerr << server.status() << "\n";
    if (write(ends[1], &port, sizeof(port)) < 0) _exit(1);
    pause();
    _exit(0);
  }
  int port = -1;
  if (read(ends[0], &port, sizeof(port)) != sizeof(port) || port < 0) {
    return internal_error("the coordinator did not start");
  }
  return Child{pid, port};
}

double cpu_seconds(pid_t pid) {
  std::ifstream stat(str_cat("/proc/", pid, "/stat"));
  const std::string text(std::istreambuf_iterator<char>(stat), {});
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string word;
  double ticks = 0;
  for (int field = 3; rest >> word && field <= 15; ++field) {
    if (field >= 14) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double peak_mb(pid_t pid) {
  std::ifstream status(str_cat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

// One simulated process: a connection and calls that complete by callback.
class SimulatedClient {
 public:
  using Done = std::function<void(const wire::Reply&)>;

  SimulatedClient(int process, int processes, int port) : process_(process), processes_(processes) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = wire::Coordinator::NewStub(grpc::CreateCustomChannel(
        str_cat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  }

  void join(Done done) {
    wire::Request request;
    request.mutable_register_()->set_processes(processes_);
    call(std::move(request), [this, done = std::move(done)](const wire::Reply& reply) {
      service_ = reply.service();
      done(reply);
    });
  }

  void call(wire::Request request, Done done) {
    auto* open = new OpenCall{
        .request = std::move(request), .reply = {}, .context = {}, .done = std::move(done)};
    wire::Caller& caller = *open->request.mutable_caller();
    caller.set_process(process_);
    caller.set_incarnation(static_cast<uint64_t>(process_) + 1);
    caller.set_service(service_);
    caller.set_sequence(++sequence_);
    caller.set_oldest_open(open->request.has_heartbeat() ? 0 : sequence_.load());
    stub_->async()->Call(&open->context, &open->request, &open->reply,
                         [open](const grpc::Status& status) {
                           if (!status.ok() && !is_over) {
                             std::cerr << "bench_coordinator: " << status.error_message() << "\n";
                             _exit(1);
                           }
                           const std::unique_ptr<OpenCall> owned(open);
                           owned->done(owned->reply);
                         });
  }

 private:
  struct OpenCall {
    wire::Request request;
    wire::Reply reply;
    grpc::ClientContext context;
    Done done;
  };
  const int process_, processes_;
  std::unique_ptr<wire::Coordinator::Stub> stub_;
  uint64_t service_ = 0;
  std::atomic<uint64_t> sequence_{0};
};

class Bench {
 public:
  Bench(const Options& options, const Child& child) : options_(options), child_(child) {
    for (int i = 0; i < options.clients; ++i) {
      clients_.push_back(std::make_unique<SimulatedClient>(i, options.clients, child.port));
    }
  }

  Json run() {
    Json line = {{"bench", "coordinator"},
                 {"clients", options_.clients},
                 {"journal", !options_.journal.empty()}};
    line["connect_s"] = timed(
        [&](SimulatedClient& client, SimulatedClient::Done done) { client.join(std::move(done)); });
    // All that have a watch, which waits for a change that does not come.
    for (const auto& client : clients_) {
      wire::Request request;
      request.mutable_watch()->set_version(clients_.size());
      client->call(std::move(request), [](const wire::Reply&) {});
    }
    std::vector<double> barriers;
    for (int i = 0; i < 5; ++i) {
      barriers.push_back(timed([&](SimulatedClient& client, SimulatedClient::Done done) {
        wire::Request request;
        request.mutable_barrier()->set_id(str_cat("b", i));
        request.mutable_barrier()->set_timeout_ms(300'000);
        client.call(std::move(request), std::move(done));
      }));
    }
    std::sort(barriers.begin(), barriers.end());
    line["barrier_of_all_s"] = barriers[2];
    line["barrier_of_all_worst_s"] = barriers[4];
    line["live_set_of_all_s"] = timed([&](SimulatedClient& client, SimulatedClient::Done done) {
      wire::Request request;
      request.mutable_live_set();
      client.call(std::move(request), std::move(done));
    });
    key_values(line);
    heartbeats(line);
    line["coordinator_peak_mb"] = peak_mb(child_.pid);
    return line;
  }

 private:
  /// Seconds until the call of every client is answered, and well.
  template <typename Start>
  double timed(const Start& start) {
    const Time::time_point begin = Time::now();
    int open = options_.clients;
    for (const auto& client : clients_) {
      start(*client, [&](const wire::Reply& reply) {
        std::lock_guard lock(mutex_);
        if (reply.code() != 0) {
          std::cerr << "bench_coordinator: " << reply.message() << "\n";
          _exit(1);
        }
        if (--open == 0) all_done_.notify_one();
      });
    }
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return open == 0; });
    return since(begin);
  }

  // 1 MB altogether, of which each client writes its part; then each reads the next one's.
  void key_values(Json& line) {
    const size_t bytes = std::max<size_t>(1, (size_t{1} << 20) / clients_.size());
    size_t index = 0;
    line["write_1mb_s"] = timed([&](SimulatedClient& client, SimulatedClient::Done done) {
      wire::Request request;
      request.mutable_insert()->set_key(str_cat("key", index++));
      request.mutable_insert()->set_value(std::string(bytes, 'x'));
      client.call(std::move(request), std::move(done));
    });
    index = 0;
    line["read_1mb_s"] = timed([&](SimulatedClient& client, SimulatedClient::Done done) {
      wire::Request request;
      request.mutable_get()->set_key(str_cat("key", ++index % clients_.size()));
      client.call(std::move(request), std::move(done));
    });
    line["key_value_bytes"] = bytes * clients_.size();
  }

  // Each client's heartbeat every 10 s, spread evenly.
  void heartbeats(Json& line) {
    const double cpu = cpu_seconds(child_.pid);
    const Time::time_point begin = Time::now();
    const double rate = static_cast<double>(clients_.size()) / 10;
    std::vector<double> late_ms;
    int64_t sent = 0;
    std::atomic<int64_t> answered = 0;
    for (; since(begin) < options_.seconds; ++sent) {
      const auto due = begin + std::chrono::duration_cast<Time::duration>(
                                   std::chrono::duration<double>(static_cast<double>(sent) / rate));
      std::this_thread::sleep_until(due);
      wire::Request request;
      request.mutable_heartbeat();
      const Time::time_point start = Time::now();
      clients_[static_cast<size_t>(sent) % clients_.size()]->call(
          std::move(request), [&, start](const wire::Reply& reply) {
            std::lock_guard lock(mutex_);
            if (reply.code() != 0) _exit(1);
            late_ms.push_back(1e3 * since(start));
            ++answered;
            all_done_.notify_one();
          });
    }
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return answered == sent; });
    std::sort(late_ms.begin(), late_ms.end());
    line["heartbeats_per_s"] = static_cast<double>(sent) / since(begin);
    line["heartbeat_median_ms"] = late_ms[late_ms.size() / 2];
    line["heartbeat_p99_ms"] = late_ms[late_ms.size() * 99 / 100];
    line["coordinator_cores_for_heartbeats"] = (cpu_seconds(child_.pid) - cpu) / since(begin);
  }

  const Options& options_;
  const Child& child_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  std::mutex mutex_;
  std::condition_variable all_done_;
};

Result<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == count) return invalid_argument(name, " needs a value");
    const std::string value = arguments[i + 1];
    if (name == "--clients") {
      options.clients = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--seconds") {
      options.seconds = std::max(1.0, std::atof(value.c_str()));
    } else if (name == "--journal") {
      options.journal = value;
    } else {
      return invalid_argument("no option ", name);
    }
  }
  return options;
}

Status run(int count, char** arguments) {
  ASSIGN_OR_RETURN(const Options options, parse(count, arguments));
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  ASSIGN_OR_RETURN(const Child child, start_coordinator(options));
  Bench bench(options, child);
  std::cout << bench.run().dump() << std::endl;
  is_over = true;
  kill(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, 0);
  _exit(0);  // with calls still open
}

}  // namespace
}  // namespace tessera::coord

int main(int count, char** arguments) {
  const tessera::Status status = tessera::coord::run(count, arguments);
  if (status.ok()) return 0;
  std::cerr << "bench_coordinator: " << status.message() << "\n";
  return 1;
}

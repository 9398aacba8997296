#include "tessera/base/stack_trace.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "absl/debugging/symbolize.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr int kMostFrames = 64;
constexpr int kOwnFrames = 2;  // the handler, and what the kernel calls it by
constexpr std::chrono::milliseconds kToAnswer{1000};

// One question at a time. The handler has no argument of ours, so it finds all here.
enum State : int { kIdle, kAsked, kAnswering, kAnswered };
std::atomic<int> state{kIdle};
std::atomic<int> asked_thread{0};
std::array<void*, kMostFrames> addresses;  // written while kAnswering, read when kAnswered
int address_count = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not lock");

int signal_number() { return SIGRTMIN + 6; }

// The code that unwinds stacks, for exceptions too. It locks a mutex, and allocates where code was
// compiled at run time and it has not looked at that yet.
struct {
  uintptr_t begin = 0, end = 0;
} unwinder;

int find_unwinder(dl_phdr_info* info, size_t, void*) {
  const auto inside = reinterpret_cast<uintptr_t>(&_Unwind_Backtrace);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    begin = std::min<uintptr_t>(begin, info->dlpi_addr + segment.p_vaddr);
    end = std::max<uintptr_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (inside < begin || inside >= end) return 0;
  // Where it is part of the program itself nothing can be told from addresses.
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') unwinder = {begin, end};
  return 1;
}

// Whether the code that was interrupted was called by the unwinder, or is it: then it may hold what
// the handler would wait for. Such an address lies at the top of the stack.
bool is_in_unwinder(const ucontext_t& context) {
#if defined(__x86_64__)
  const auto pc = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  const auto top = static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto pc = static_cast<uintptr_t>(context.uc_mcontext.pc);
  const auto top = static_cast<uintptr_t>(context.uc_mcontext.sp);
#else
  return true;
#endif
  const auto is_there = [](uintptr_t at) { return at >= unwinder.begin && at < unwinder.end; };
  if (is_there(pc)) return true;
  // In small pieces, read by the kernel: the stack may end.
  std::array<uintptr_t, 64> words;
  for (int piece = 0; piece < 16; ++piece) {
    const iovec to = {words.data(), sizeof(words)};
    const iovec from = {reinterpret_cast<void*>(top + piece * sizeof(words)), sizeof(words)};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(sizeof(words)))
      return piece == 0;
    if (std::any_of(words.begin(), words.end(), is_there)) return true;
  }
  return false;
}

void answer(int, siginfo_t*, void* context) {
  const int error = errno;
  int expected = kAsked;
  // Whoever waited in vain has left: nobody wants this any more.
  if (asked_thread.load() == this_thread_id() &&
      state.compare_exchange_strong(expected, kAnswering)) {
    address_count = is_in_unwinder(*static_cast<const ucontext_t*>(context))
                        ? 0
                        : backtrace(addresses.data(), kMostFrames);
    state.store(kAnswered);
  }
  errno = error;
}

void prepare() {
  static std::once_flag once;
  std::call_once(once, [] {
    dl_iterate_phdr(find_unwinder, nullptr);
    struct sigaction action {};
    action.sa_sigaction = answer;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(signal_number(), &action, nullptr);
  });
  // Loads what it needs, and looks at all code that was compiled at run time so far: a handler must
  // do neither.
  std::array<void*, 4> frames;
  (void)backtrace(frames.data(), static_cast<int>(frames.size()));
}

std::string frame_text(void* address, bool is_innermost) {
  // A return address may be that of the next function.
  void* const inside = is_innermost ? address : static_cast<char*>(address) - 1;
  std::array<char, 1024> name;
  if (absl::Symbolize(inside, name.data(), static_cast<int>(name.size()))) return name.data();
  Dl_info info{};
  if (dladdr(inside, &info) == 0 || info.dli_fname == nullptr)
    return absl::StrFormat("%p", address);
  const std::string path = info.dli_fname;
  return absl::StrFormat("%s+0x%x", path.substr(path.rfind('/') + 1),
                         static_cast<char*>(inside) - static_cast<char*>(info.dli_fbase));
}

std::string thread_name(int thread) {
  std::ifstream file(str_cat("/proc/self/task/", thread, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

int this_thread_id() { return static_cast<int>(syscall(SYS_gettid)); }

ThreadStack thread_stack(int thread) {
  static std::mutex asking;
  const std::lock_guard lock(asking);
  prepare();
  ThreadStack result{.thread = thread, .name = thread_name(thread), .frames = {}};
  asked_thread.store(thread);
  state.store(kAsked);
  if (syscall(SYS_tgkill, getpid(), thread, signal_number()) != 0) {
    state.store(kIdle);
    return result;
  }
  const auto end = std::chrono::steady_clock::now() + kToAnswer;
  while (state.load() != kAnswered) {
    int expected = kAsked;
    if (std::chrono::steady_clock::now() > end && state.compare_exchange_strong(expected, kIdle))
      return result;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  for (int i = kOwnFrames; i < address_count; ++i)
    result.frames.push_back(frame_text(addresses[i], i == kOwnFrames));
  state.store(kIdle);
  return result;
}

std::vector<ThreadStack> thread_stacks() {
  std::vector<int> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    int thread = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &thread)) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  std::vector<ThreadStack> result;
  for (const int thread : threads) result.push_back(thread_stack(thread));
  return result;
}

std::string to_text(const std::vector<ThreadStack>& stacks) {
  std::vector<const ThreadStack*> firsts;
  std::map<std::vector<std::string>, std::vector<std::string>> threads;  // by their frames
  for (const ThreadStack& stack : stacks) {
    auto& names = threads[stack.frames];
    if (names.empty()) firsts.push_back(&stack);
    names.push_back(str_cat(stack.name, " (", stack.thread, ")"));
  }
  std::string text;
  for (const ThreadStack* stack : firsts) {
    str_append(&text, "thread ", absl::StrJoin(threads[stack->frames], ", "), ":\n");
    if (stack->frames.empty()) text += "  does not answer\n";
    for (const std::string& frame : stack->frames) str_append(&text, "  ", frame, "\n");
  }
  return text;
}

}  // namespace tessera

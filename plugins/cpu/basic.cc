// Errors, plugin start and attributes, events.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {

PJRT_Error* make_error(const absl::Status& status) {
  return status.ok() ? nullptr : new PJRT_Error{status};
}

absl::Status status_of(PJRT_Error_Code code, const char* message, size_t message_size) {
  return absl::Status(static_cast<absl::StatusCode>(code), view(message, message_size));
}

absl::Status check_struct_size(std::string_view what, size_t expected, size_t actual) {
  if (actual >= expected) return absl::OkStatus();
  return invalid(absl::StrCat(what, ".struct_size is ", actual, ", expected at least ", expected,
                              ": the caller was built for an older PJRT C API than ",
                              PJRT_API_MAJOR, ".", PJRT_API_MINOR));
}

PJRT_Error* reject_null(const char* function, const char* what) {
  return make_error(invalid(absl::StrCat(function, ": ", what, " is null")));
}

PJRT_Error* reject_size(const char* function, size_t expected, size_t actual) {
  return finish(function, check_struct_size("args", expected, actual));
}

PJRT_Error* finish(const char* function, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return make_error(status);
  return make_error(absl::Status(status.code(), absl::StrCat(function, ": ", status.message())));
}

PJRT_Error* reject_exception(const char* function) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return make_error(absl::ResourceExhaustedError(absl::StrCat(function, ": out of host memory")));
  } catch (const std::exception& error) {
    return make_error(absl::InternalError(absl::StrCat(function, ": ", error.what())));
  } catch (...) {
    return make_error(absl::InternalError(absl::StrCat(function, ": unknown exception")));
  }
}

namespace {

void error_destroy(PJRT_Error_Destroy_Args* args) {
  if (args != nullptr && args->struct_size >= PJRT_Error_Destroy_Args_STRUCT_SIZE)
    delete args->error;
}

// Returns nothing, so a bad call is answered with an empty message.
void error_message(PJRT_Error_Message_Args* args) {
  if (args == nullptr || args->struct_size < PJRT_Error_Message_Args_STRUCT_SIZE) return;
  const std::string_view message =
      args->error == nullptr ? std::string_view("") : args->error->status.message();
  args->message = message.data();
  args->message_size = message.size();
}

absl::Status error_get_code(PJRT_Error_GetCode_Args& args) {
  args.code = static_cast<PJRT_Error_Code>(args.error->status.code());
  return absl::OkStatus();
}

// Loading a stored executable warns about tuning flags ("+prefer-no-gather") that LLVM counts as
// machine features: true for every executable, and harmless. And a compilation of over two minutes,
// as of a large model or on a busy machine, is reported as an error, with the advice to file a bug:
// the caller knows that it waits. Everything else is printed as before.
class LogFilter : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    if (absl::StrContains(entry.text_message(),
                          "Loading XLA:CPU AOT result. Target machine feature +prefer-no-"))
      return;
    if (entry.source_basename() == "slow_operation_alarm.cc" &&
        threshold_ > absl::LogSeverity::kInfo)
      return;
    if (entry.log_severity() < threshold_ || entry.log_severity() == absl::LogSeverity::kFatal)
      return;
    const std::string_view text = entry.text_message_with_prefix_and_newline();
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  void install() {
    // TensorFlow's variable counts the levels to leave out. By default only information is left
    // out.
    const char* left_out = std::getenv("TF_CPP_MIN_LOG_LEVEL");
    threshold_ = static_cast<absl::LogSeverity>(
        left_out == nullptr ? 1 : std::clamp(std::atoi(left_out), 0, 3));
    // Until it is initialised, absl's log writes everything to stderr past any threshold.
    absl::log_internal::SetInitialized();
    absl::AddLogSink(this);
    absl::SetStderrThreshold(absl::LogSeverityAtLeast::kFatal);
  }

 private:
  absl::LogSeverity threshold_ = absl::LogSeverity::kWarning;
};

absl::Status plugin_initialize(PJRT_Plugin_Initialize_Args&) {
  static std::once_flag once;
  std::call_once(once, [] { (new LogFilter)->install(); });  // lives as long as the process logs
  return absl::OkStatus();
}

absl::Status plugin_attributes(PJRT_Plugin_Attributes_Args& args) {
  static const NamedValues* attributes = [] {
    auto* values = new NamedValues;
    const auto version = [](const mlir::vhlo::Version& v) {
      return std::vector<int64_t>{v.getMajor(), v.getMinor(), v.getPatch()};
    };
    values->add("xla_version", int64_t{2});
    values->add("stablehlo_current_version", version(mlir::vhlo::Version::getCurrentVersion()));
    values->add("stablehlo_minimum_version", version(mlir::vhlo::Version::getMinimumVersion()));
    return values;
  }();
  return give(*attributes, args.attributes, args.num_attributes);
}

// ---- events
// ---------------------------------------------------------------------------------------------------------

absl::Status event_destroy(PJRT_Event_Destroy_Args& args) {
  delete args.event;
  return absl::OkStatus();
}

absl::Status event_is_ready(PJRT_Event_IsReady_Args& args) {
  args.is_ready = !args.event->future.IsValid() || args.event->future.IsReady();
  return absl::OkStatus();
}

absl::Status event_error(PJRT_Event_Error_Args& args) {
  if (!args.event->future.IsValid()) return absl::OkStatus();
  if (!args.event->future.IsReady()) {
    return absl::FailedPreconditionError(
        "the event is not ready: await it before asking for its error");
  }
  return args.event->future.Await();
}

absl::Status event_await(PJRT_Event_Await_Args& args) {
  return args.event->future.IsValid() ? args.event->future.Await() : absl::OkStatus();
}

absl::Status event_on_ready(PJRT_Event_OnReady_Args& args) {
  if (args.callback == nullptr) return invalid("argument callback is null");
  const PJRT_Event_OnReadyCallback callback = args.callback;
  void* const user_arg = args.user_arg;
  if (!args.event->future.IsValid()) {
    callback(nullptr, user_arg);
    return absl::OkStatus();
  }
  args.event->future.OnReady(
      [callback, user_arg](const absl::Status& status) { callback(make_error(status), user_arg); });
  return absl::OkStatus();
}

absl::Status event_create(PJRT_Event_Create_Args& args) {
  auto [promise, future] = xla::MakePromise<>();
  args.event = new PJRT_Event{std::move(future), std::move(promise)};
  return absl::OkStatus();
}

absl::Status event_set(PJRT_Event_Set_Args& args) {
  if (!args.event->promise.has_value()) {
    return absl::FailedPreconditionError(
        "the event was set already, or not made by PJRT_Event_Create");
  }
  xla::Promise<> promise = *std::move(args.event->promise);
  args.event->promise.reset();
  promise.Set(status_of(args.error_code, args.error_message, args.error_message_size));
  return absl::OkStatus();
}

}  // namespace

void fill_basic_slots(PJRT_Api& api) {
  api.PJRT_Error_Destroy = error_destroy;
  api.PJRT_Error_Message = error_message;
  TESSERA_SLOT(api, PJRT_Error_GetCode, error, error_get_code);
  TESSERA_SLOT_PLAIN(api, PJRT_Plugin_Initialize, plugin_initialize);
  TESSERA_SLOT_PLAIN(api, PJRT_Plugin_Attributes, plugin_attributes);
  TESSERA_SLOT(api, PJRT_Event_Destroy, event, event_destroy);
  TESSERA_SLOT(api, PJRT_Event_IsReady, event, event_is_ready);
  TESSERA_SLOT(api, PJRT_Event_Error, event, event_error);
  TESSERA_SLOT(api, PJRT_Event_Await, event, event_await);
  TESSERA_SLOT(api, PJRT_Event_OnReady, event, event_on_ready);
  TESSERA_SLOT_PLAIN(api, PJRT_Event_Create, event_create);
  TESSERA_SLOT(api, PJRT_Event_Set, event, event_set);
}

}  // namespace tessera::pjrt_cpu

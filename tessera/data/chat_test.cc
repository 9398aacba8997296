#include "tessera/data/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ChatTemplate kShort = {
    .system = "S:{content};", .user = "U:{content};", .assistant = "A:{content};"};

std::string error_of(const char* messages) {
  return std::string(from_absl(render_chat(Json::parse(messages), kShort).status().message()));
}

TEST(Chat, LearnsWhatTheAssistantSaysAndTheEndOfItsTurn) {
  const auto parts = render_chat(Json::parse(R"([
    {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "yes"}, {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "no"}])"),
                                 kShort);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(*parts, ElementsAre(ChatPart{"S:be brief;U:hi;A:", false}, ChatPart{"yes;", true},
                                  ChatPart{"U:and?;A:", false}, ChatPart{"no;", true}));
}

TEST(Chat, DoesNotReadContentAsATemplate) {
  const auto parts =
      render_chat(Json::parse(R"([{"role": "user", "content": "say {content}"}])"), kShort);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(*parts, ElementsAre(ChatPart{"U:say {content};", false}));
}

TEST(Chat, SaysWhichMessageIsWrong) {
  EXPECT_THAT(error_of(R"([{"role": "user", "content": "a"}, {"role": "bot", "content": "b"}])"),
              AllOf(HasSubstr("message 2"), HasSubstr("bot"), HasSubstr("assistant")));
  EXPECT_THAT(error_of(R"([{"role": "user"}])"),
              AllOf(HasSubstr("message 1"), HasSubstr("content")));
  EXPECT_THAT(error_of(R"([{"role": "user", "content": 3}])"), HasSubstr("not a string"));
  EXPECT_THAT(error_of(R"(["hi"])"), HasSubstr("not an object"));
  EXPECT_THAT(error_of(R"({"role": "user"})"), HasSubstr("not a list"));
}

TEST(Chat, TemplatesNeedAPlaceForTheContent) {
  ChatTemplate format;
  EXPECT_TRUE(format.validate().ok());
  format.user = "no place";
  EXPECT_THAT(std::string(from_absl(format.validate().message())),
              AllOf(HasSubstr("user"), HasSubstr("{content}")));
  format.user = "{content}{content}";
  EXPECT_FALSE(format.validate().ok());
}

}  // namespace
}  // namespace tessera

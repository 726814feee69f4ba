#include "cli/line_reader.h"

#include <cstdio>
#include <iostream>
#include <utility>

#if SLUICE_HAS_LIBEDIT
#include <histedit.h>
#endif

#include "cli/terminal.h"

#include <fmt/format.h>

namespace sluice::cli {

#if SLUICE_HAS_LIBEDIT
struct LineReader::Editor {
  explicit Editor(const char* prompt)
      : history(history_init()), line(el_init("sluice", stdin, stdout, stderr)) {
    HistEvent event{};
    ::history(history, &event, H_SETSIZE, 1000);
    el_set(line, EL_CLIENTDATA, const_cast<char*>(prompt));
    el_set(
        line, EL_PROMPT, +[](EditLine* editor) {
          char* text = nullptr;
          el_get(editor, EL_CLIENTDATA, &text);
          return text;
        });
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_HIST, ::history, history);
  }
  ~Editor() {
    el_end(line);
    history_end(history);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::optional<std::string> next() {
    int length = 0;
    const char* const text = el_gets(line, &length);
    if (text == nullptr || length <= 0) return std::nullopt;
    HistEvent event{};
    if (length > 1) ::history(history, &event, H_ENTER, text);
    std::string out(text, static_cast<size_t>(length));
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }

  History* history;
  EditLine* line;
};
#else
struct LineReader::Editor {
  explicit Editor(const char*) {}
  std::optional<std::string> next() { return std::nullopt; }
};
#endif

LineReader::LineReader(std::string prompt) : prompt_(std::move(prompt)) {
  if (SLUICE_HAS_LIBEDIT && stdin_is_terminal() && stdout_is_terminal()) {
    editor_ = std::make_unique<Editor>(prompt_.c_str());
  }
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next() {
  if (editor_ != nullptr) return editor_->next();
  if (stdin_is_terminal()) {
    fmt::print(stderr, "{}", prompt_);
    std::fflush(stderr);
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace sluice::cli

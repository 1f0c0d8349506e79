//===- TextTest.cpp - Tests of text that others wrote ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Text.h"

#include <gtest/gtest.h>

using namespace sccl;

TEST(Text, EscapesWhatTerminalsObey) {
  EXPECT_EQ(escapeControls("a\x1b[31m\r\x7f"), "a\\1B[31m\\0D\\7F");
  EXPECT_EQ(escapeControls(std::string_view("\0", 1)), "\\00");
  EXPECT_EQ(escapeControls("\xc2\x9b"
                           "31m"),
            "\\C2\\9B31m");
  EXPECT_EQ(escapeControls("\x9b"
                           "31m"),
            "\\9B31m");
}

TEST(Text, LeavesTheRest) {
  for (const char *text : {"", "a\tb\n", "\xc2\xa0", "Z\xc3\xbcrich",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80", "a\\b"})
    EXPECT_EQ(escapeControls(text), text);
}

TEST(Text, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(escapeControls("\xe2\x82"), "\\E2\\82");
  EXPECT_EQ(escapeControls("\xc0\x9b"), "\\C0\\9B");
  EXPECT_EQ(escapeControls("\xed\xa0\x80"), "\\ED\\A0\\80");
}

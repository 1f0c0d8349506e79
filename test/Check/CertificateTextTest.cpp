//===- CertificateTextTest.cpp - What is no certificate -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CertificateText.h"

using namespace sccl;
using namespace sccl::testing;

namespace {
std::string parseError(const std::string &text) {
  auto certificate = parseCertificate(text);
  return certificate ? "no error" : certificate.error();
}

const char *const header =
    "sccl-certificate 1\n"
    "no schedule of broadcast root 0 on 3 ranks with 2 steps has R/C below 1\n"
    "topology 0123456789abcdef\n";
} // namespace

TEST(CertificateText, Header) {
  EXPECT_EQ(parseError(""), "1:1: expected 'sccl-certificate', got nothing");
  EXPECT_EQ(parseError("sccl-certificate 2\n"), "1:18: expected '1', got '2'");
  EXPECT_EQ(parseError("sccl-certificate 1\r\n"),
            "1:18: expected '1', got '1\r'");
  EXPECT_EQ(parseError("sccl-certificate  1\n"),
            "1:18: expected a word after the space");
  const std::string start = "sccl-certificate 1\nno schedule of ";
  EXPECT_EQ(parseError(start + "allgather on"),
            "2:16: expected a collective, got 'allgather'");
  EXPECT_EQ(parseError(start + "broadcast on"),
            "2:26: expected 'root', got 'on'");
  EXPECT_EQ(parseError(start + "broadcast root 3 on 3 ranks"),
            "2:36: expected a number of ranks between 4 and 65536, got '3'");
  EXPECT_EQ(parseError(start + "gather root 0 on 65537 ranks"),
            "2:33: expected a number of ranks between 1 and 65536, got "
            "'65537'");
  EXPECT_EQ(parseError(start + "all_gather on 3 ranks with 0 steps"),
            "2:43: expected 'any' or a number between 1 and 1048576, got '0'");
  const std::string claim = start + "all_gather on 3 ranks with 1 steps has R/C"
                                    " below ";
  for (const char *bound : {"2/2", "1/", "/1", "01", "1/0", "-1", "+1", "1.5",
                            "3/1", "9999999999999999999"})
    EXPECT_EQ(parseError(claim + bound + "\n"),
              "2:65: expected a fraction in lowest terms, got '" +
                  std::string(bound) + "'");
  EXPECT_EQ(parseError(claim + "1\ntopology 0123456789ABCDEF\n"),
            "3:10: expected 16 hexadecimal digits, got '0123456789ABCDEF'");
}

TEST(CertificateText, Search) {
  auto with = [](const std::string &search) {
    return parseError(header +
                      std::string("prices\nprice 1 1 on 0->1\n"
                                  "commodity from 0 to 0 1 2\n") +
                      search);
  };
  EXPECT_EQ(with("search 2\nclause 1 -2 by 3 4\nclause by 5\nend\n"),
            "no error");
  EXPECT_EQ(with("search 0\n"), "7:8: expected a value between 1 and "
                                "1099511627776, got '0'");
  EXPECT_EQ(with("search 2\nclause 1 0 by 3\n"),
            "8:12: expected a literal, which is not 0, before this place");
  EXPECT_EQ(with("search 2\nclause 1\n"),
            "8:9: expected a literal between -2147483647 and 2147483647, got "
            "nothing");
  EXPECT_EQ(with("search 2\nclause 1 by\n"),
            "8:12: expected a clause between 1 and 2147483647, got nothing");
  EXPECT_EQ(with("search 2\nclause 1 by 0\n"),
            "8:13: expected a clause between 1 and 2147483647, got '0'");
  EXPECT_EQ(with("search 2\nclause 1 by 2147483648\n"),
            "8:13: expected a clause between 1 and 2147483647, got "
            "'2147483648'");
  EXPECT_EQ(with("search 2\ngossip 1\nend\n"),
            "8:1: expected 'end', got 'gossip'");
}

TEST(CertificateText, Proof) {
  auto with = [](const std::string &proof) {
    return parseError(header + proof);
  };
  EXPECT_EQ(with("prices\nprice 1 1 on 0->1\nend\n"), "no error");
  EXPECT_EQ(with("prices\nend 0123456789abcdef\n"),
            "5:21: the hash at the end is not that of the text");
  EXPECT_EQ(with("prices\nend 0123\n"),
            "5:5: expected 16 hexadecimal digits, got '0123'");
  EXPECT_EQ(with("price 1 1 on 0->1\nend\n"),
            "4:1: expected 'prices', 'cut' or 'distance', got 'price'");
  EXPECT_EQ(with("prices\nprice 1 1 on 0->1\n"),
            "6:1: expected 'end', got nothing");
  EXPECT_EQ(with("prices\nend"), "5:4: expected the end of the line");
  EXPECT_EQ(with("prices\nend\n\n"), "6:1: expected nothing after 'end'");
  EXPECT_EQ(with("prices\nprice 1 on 0->1\nend\n"),
            "5:9: expected a value between 0 and 1099511627776, got 'on'");
  EXPECT_EQ(with("prices\nprice 1 1 1 on 0->1\nend\n"),
            "5:11: expected 'on', got '1'");
  EXPECT_EQ(with("prices\nprice 1 01 on 0->1\nend\n"),
            "5:9: expected a value between 0 and 1099511627776, got '01'");
  EXPECT_EQ(with("prices\nprice 1 99999999999999999999 on 0->1\nend\n"),
            "5:9: expected a value between 0 and 1099511627776, got "
            "'99999999999999999999'");
  EXPECT_EQ(with("prices\nprice 0 0 on 0->1\nend\n"),
            "5:11: expected a value that is not 0");
  EXPECT_EQ(with("prices\nprice 1 1 on 0->3\nend\n"),
            "5:14: expected a link such as 0->1 between different ranks below "
            "3, got '0->3'");
  EXPECT_EQ(with("prices\nprice 1 1 on 0->1 0->1\nend\n"),
            "5:23: expected links in ascending order");
  EXPECT_EQ(with("prices\nprice 1 1 on 0->1\nprice 2 2 on 0->1\nend\n"),
            "6:18: this line repeats or belongs before an earlier one");
}

TEST(CertificateText, Commodities) {
  auto with = [](const std::string &proof) {
    return parseError(header + ("prices\n" + proof));
  };
  const std::string tree = "commodity from 0 to 0 1\ntree from 0\n";
  EXPECT_EQ(with("commodity from 0 0 to 1\n"),
            "5:20: expected ranks in ascending order");
  EXPECT_EQ(with("commodity from to 1\n"),
            "5:16: expected a rank between 0 and 2, got 'to'");
  EXPECT_EQ(with(tree + "arrive 0 0\n"),
            "7:11: expected a value between -1099511627776 and 1099511627776, "
            "got nothing");
  EXPECT_EQ(with(tree + "arrive 0 0 -0\n"),
            "7:12: expected a value between -1099511627776 and 1099511627776, "
            "got '-0'");
  EXPECT_EQ(with(tree + "arrive 0 0 0\nrelay 1 -1 on 1->2\n"),
            "8:9: expected a value between 0 and 1099511627776, got '-1'");
  EXPECT_EQ(with(tree + "arrive 0 0 0\npath 3 1 1 on 1->2\n"),
            "8:6: expected a rank between 0 and 2, got '3'");
  EXPECT_EQ(with(tree + "arrive 0 0 0\ntree from 0\narrive 0 0 0\nend\n"),
            "10:1: this line repeats or belongs before an earlier one");
  EXPECT_EQ(with("commodity from 0 to 1\ngossip 0\nend\n"),
            "6:8: expected a value between 1 and 1099511627776, got '0'");
  EXPECT_EQ(with("symmetry 0 1\nend\n"),
            "5:13: expected a rank between 0 and 2, got nothing");
}

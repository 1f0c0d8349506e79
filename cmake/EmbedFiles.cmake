# Writes OUTPUT, a C++ file with a function of namespace NAMESPACE for each of FILES
# ("function=path;..."), which returns the text of the file. String literals have a
# greatest length that compilers must accept, arrays have none.
set(text "// Written by cmake/EmbedFiles.cmake.\n#include \"${HEADER}\"\n\n")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([^=]*)=(.*)$" entry "${entry}")
  set(function ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND text "static const unsigned char ${function}Bytes[] = {${bytes}0};\n"
    "const char *${NAMESPACE}::${function}() {\n"
    "  return reinterpret_cast<const char *>(${function}Bytes);\n}\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")

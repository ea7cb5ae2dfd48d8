# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=file.cpp "-DMODELS=a.yaml;b.yaml" -P embed_models.cmake: the files as string constants.
set(entries "")
set(count 0)
foreach(model IN LISTS MODELS)
  get_filename_component(name ${model} NAME_WE)
  # As hexadecimal, because CMake strings do not keep every byte (brackets, semicolons) on their way through.
  file(READ ${model} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR last "${digits} - 1")
  set(literals "")
  foreach(from RANGE 0 ${last} 64)
    string(SUBSTRING "${hex}" ${from} 64 part)
    string(REGEX REPLACE "(..)" "\\\\x\\1" part "${part}")
    string(APPEND literals "\n    \"${part}\"")
  endforeach()
  string(APPEND entries "    embedded_model{\"${name}\", std::string_view(${literals})},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed_models.cmake from configs/machines; do not edit.
#include <array>
#include \"calibrate/embedded_models.hpp\"
namespace calibrate {
namespace {
constexpr std::array<embedded_model, ${count}> models = {{
${entries}}};
}  // namespace
std::span<const embedded_model> embedded_models() noexcept { return models; }
}  // namespace calibrate
")

# What every target of the project is built with. Third-party headers are SYSTEM, so that only our
# own code has to be clean under these warnings.
add_library(mcpx_options INTERFACE)
target_compile_features(mcpx_options INTERFACE cxx_std_20)
target_include_directories(mcpx_options INTERFACE ${PROJECT_SOURCE_DIR}/internal)
target_compile_options(mcpx_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
target_compile_definitions(mcpx_options INTERFACE MCPX_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees maybe-uninitialized members inside coroutine frames and optionals that are not.
  target_compile_options(mcpx_options INTERFACE -Wno-maybe-uninitialized)
endif()

set(MCPX_SANITIZE "" CACHE STRING "address;undefined or thread")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (MCPX_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug"))
  # g++ 12 warns of overlapping copies in std::string's own code (GCC bug 105651).
  target_compile_options(mcpx_options INTERFACE -Wno-restrict)
endif()
if(MCPX_SANITIZE)
  string(REPLACE ";" "," _list "${MCPX_SANITIZE}")
  target_compile_options(mcpx_options INTERFACE -fsanitize=${_list} -fno-omit-frame-pointer)
  target_link_options(mcpx_options INTERFACE -fsanitize=${_list})
  if(MCPX_SANITIZE MATCHES "undefined")
    # The shared fmt and spdlog hide the type information that this check compares.
    target_compile_options(mcpx_options INTERFACE -fno-sanitize=vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND MCPX_SANITIZE MATCHES "undefined")
    # clang 14 cannot assemble coroutines under -fsanitize=function.
    target_compile_options(mcpx_options INTERFACE -fno-sanitize=function)
  endif()
endif()

# A build that counts what runs, and one that uses the counts: packaging/optimise.sh makes both, in
# one build directory. Only what a call passes through; the rest is not worth compiling twice.
set(MCPX_PROFILE "" CACHE STRING "generate or use; set by packaging/optimise.sh")
set(MCPX_PROFILED ask base call downstream http http1 json mcp net registry rpc runtime upstream)
if(MCPX_PROFILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "MCPX_PROFILE needs g++; building without")
  set(MCPX_PROFILE "" CACHE STRING "" FORCE)
endif()
if(MCPX_PROFILE STREQUAL "generate")
  target_link_options(mcpx_options INTERFACE -fprofile-generate)
endif()
function(mcpx_profile target)
  if(MCPX_PROFILE STREQUAL "generate")
    target_compile_options(${target} PRIVATE -fprofile-generate -fprofile-update=prefer-atomic)
  elseif(MCPX_PROFILE STREQUAL "use")
    # What was not exercised is optimised as it always is, and not for size. What runs once a call is
    # hot too, though scanning bodies makes up most of what was counted.
    target_compile_options(${target} PRIVATE
      -fprofile-use -fprofile-partial-training --param=hot-bb-count-ws-permille=999
      -Wno-missing-profile -Wno-coverage-mismatch)
  endif()
endfunction()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# mcpx_room(<name> SOURCES a.cpp ... DEPS room ... LINK third_party ...)
# One STATIC library per room. DEPS are the rooms it may include (the lint in test/lint checks the
# direction); a room without sources becomes an INTERFACE library.
function(mcpx_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  set(_target mcpx_${name})
  if(ARG_SOURCES)
    add_library(${_target} STATIC ${ARG_SOURCES})
    set(_scope PUBLIC)
  else()
    add_library(${_target} INTERFACE)
    set(_scope INTERFACE)
  endif()
  target_link_libraries(${_target} ${_scope} mcpx_options ${ARG_LINK})
  if(ARG_SOURCES AND name IN_LIST MCPX_PROFILED)
    mcpx_profile(${_target})
  endif()
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${_target} ${_scope} mcpx_${dep})
  endforeach()
endfunction()

# mcpx_test(<name> SOURCES a.cpp ... DEPS room ...): one Catch2 executable per room.
function(mcpx_test name)
  if(NOT MCPX_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES} $<TARGET_OBJECTS:mcpx_catch_main>)
  target_link_libraries(test_${name} PRIVATE mcpx_options)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/test)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(test_${name} PRIVATE mcpx_${dep})
  endforeach()
  add_test(NAME unit.${name} COMMAND test_${name})
endfunction()

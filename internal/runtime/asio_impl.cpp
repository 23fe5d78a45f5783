// Asio's non-template code, compiled once (BOOST_ASIO_SEPARATE_COMPILATION in cmake/Options.cmake).
#include <boost/asio/impl/src.hpp>

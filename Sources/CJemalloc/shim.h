#pragma once
// Linking it is all that is needed: its malloc and free come before those of the C library.
#include <jemalloc/jemalloc.h>

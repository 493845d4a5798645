#include "build.h"

const char *countersign_commit(void) { return COUNTERSIGN_COMMIT; }

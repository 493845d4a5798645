#pragma once

// The commit of which this build was made; empty if the build was not told (Package.swift).
const char *countersign_commit(void);

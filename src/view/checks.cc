// SPDX-License-Identifier: BSD-2-Clause
#include "view/checks.h"

#include <algorithm>

namespace softib::view {

const char* to_string(Severity severity) {
    switch (severity) {
        case Severity::kWarning:
            return "Warning";
        case Severity::kMinor:
            return "Minor";
        case Severity::kCritical:
            return "Critical";
        case Severity::kInfo:
            break;
    }
    return "Info";
}

Severity worst(const std::vector<Check>& checks) {
    Severity found = Severity::kInfo;
    for (const Check& check : checks) {
        found = std::max(found, check.severity);
    }
    return found;
}

}  // namespace softib::view

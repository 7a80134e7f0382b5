// SPDX-License-Identifier: BSD-2-Clause
// Its precompiled header is what it is for.
int main() {}

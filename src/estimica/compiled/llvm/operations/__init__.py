"""What the operations of CasADi are in LLVM, of single numbers and of several lanes."""

"""Search several indexes as if they were one. Each holds some repositories; answers are those of a single index of all."""

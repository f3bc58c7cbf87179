"""The rules that the validating webhooks check, one module for each subject. Pure; every error is found at once."""

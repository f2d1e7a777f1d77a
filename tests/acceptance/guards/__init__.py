"""The guards of the promises: what is taken out of the code, and the test that must fail then."""

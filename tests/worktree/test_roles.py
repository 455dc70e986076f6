"""Roles by the naming habits of each language. Paths without roles matter as much: a wrong role lowers code in the
ranking.
"""

from __future__ import annotations

import pytest

from codelens.worktree.classify import find_roles

TABLE = {
    "test": """
        test_views.py tests.py pkg/views_test.py conftest.py tests/helpers.py src/tests/a.py
        server/http_test.go pkg/testdata/in.txt
        src/lib_test.rs src/parser/tests.rs tests/cli.rs benches/speed.rs crates/my-crate-tests/src/a.rs
        src/test/java/org/a/Helper.java a/FooTest.java a/FooTests.java a/TestFoo.java a/FooTestCase.java a/FooIT.java
        src/a.test.js src/a.spec.ts src/a.test.tsx src/__tests__/a.js src/__mocks__/fs.js e2e/login.ts cypress/a.js
        src/a.cy.ts a-test.js a_test.ts src/a.spec.mjs
        src/FooTest.kt src/androidTest/kotlin/A.kt src/FooSpec.scala a/FooSuite.scala src/test/scala/X.scala
        test_main.c foo_test.cc foo_unittest.cc FooTest.cpp tests/main.c net/tst/test-net.c
        Polly.Core.Tests/A.cs test/Polly.Specs/B.cs src/FooTests.cs MyApp.UnitTests/C.cs
        spec/models/a_spec.rb test/models/a_test.rb lib/a_spec.rb test_helper.rb features/login.feature
        tests/FooTest.php src/FooTest.php FooCest.php Zend/tests/a.phpt
        Tests/AppTests/A.swift AppUITests/B.swift FooTests.swift
        spec/a_spec.lua a_test.lua test_a.lua
        test/run.sh test_run.sh run_test.sh t/t0001-init.sh run.bats
        fixtures/a.json integration_test/a.dart benchmarks/a.py""",
    "example": """
        examples/a.py example/b.go samples/C.java demo/d.js tutorial/e.py _examples/f.go docs/tutorials/a.py
        Polly.Samples/A.cs src/Button.stories.tsx example_usage.py cookbook/a.rb my-app-example/a.ts""",
    "vendored": """
        third_party/zlib/a.c vendor/a.go lib/vendor/b.js src/3rdparty/c.cpp node_modules/x/i.js Pods/A/a.m
        deps/hiredis/a.c external/a.h extern/b.h src/thirdparty/a.h venv/lib/python3.11/site-packages/a.py""",
    "docs": """
        README.md docs/a.rst doc/api.txt README CHANGELOG.txt src/notes.md man/tool.1 LICENSE documentation/a.html
        Docs/x.html CONTRIBUTING.rst""",
    "generated": """
        api.pb.go api.pb.h api_pb2.py api_pb2_grpc.py api_grpc_pb.js zz_generated.deepcopy.go types_generated.go
        types.gen.go Form.Designer.cs Model.g.cs model.g.dart schema.generated.ts src/generated/a.ts
        src/__generated__/q.ts a.min.js""",
    "": """
        contest.py latest/a.py src/testing_utils_for_users/a.py src/attest.go Contest.java Latest.cs greatest.rb
        inspect.py spectrum.rs specification.py testify.go protest.js manifest.json src/main/java/a/TestRule.java
        src/main/kotlin/FooTest.kt django/testing.py app/deps/db.py src/external/client.py core/t/a.py docstring.py
        documents.py demographics.py exampled.py sampler.py gen.py generate.py generator.go minify.js vendors.py
        readme_parser.py history.py news.py changes.go license.rs site/a.py lib/man.rb testing/a.go src/website/index.ts
        PodSpec.java JobSpec.cs GreatIdea.kt itest.py arrest.c fastest.lua""",
}
ROWS = [(role, path) for role, paths in TABLE.items() for path in paths.split()]


@pytest.mark.parametrize(("role", "path"), ROWS)
def test_each_path_has_its_role(role: str, path: str) -> None:
    if role:
        assert role in find_roles(path)
    else:
        assert not find_roles(path) & {"test", "example", "vendored", "generated"} and (
            "docs" not in find_roles(path)
        ), find_roles(path)


def test_a_path_can_have_several_roles() -> None:
    assert find_roles("docs/examples/test_app.py") == {"docs", "example", "test"}
    assert find_roles("example_test.go") == {"example", "test"}

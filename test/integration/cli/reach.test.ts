/** `heddle plan --reach` and `heddle validate --reach` on the examples. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import { heddle } from '../../support/run/heddle.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const CONNECT = join(checkout, 'examples/connect');
const folder = ownFolder('heddle-reach');

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const connection =
  readFileSync(join(CONNECT, 'networks.yaml'), 'utf8')
    .split('---')
    .find((one) => one.includes('kind: ClusterNetworkConnect')) ?? expect.unreachable('none');

const policy = file(
  'policy.yaml',
  `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-http, namespace: green}
spec:
  podSelector: {}
  ingress: [{ports: [{port: 80}]}]
`,
);

describe('heddle plan --reach', () => {
  test('says what a connection that goes closes, and changes nothing', async () => {
    const before = readdirSync(CONNECT);
    const gone = file('connection.yaml', connection);
    const { code, stdout, stderr } = await heddle('plan', '--manifests', CONNECT, '--delete', gone);
    expect(stderr).toBe('');
    expect(stdout).toMatchInlineSnapshot(`
      "opens 0 pairs, closes 2 pairs and 1 way between networks
        - blue/web → green/web everything
        - green/web → blue/web everything
        - networks blue_net, green_net: pods and services (ClusterNetworkConnect blue-green)
      "
    `);
    expect(code).toBe(2);
    expect(readdirSync(CONNECT)).toEqual(before);
  });

  test('says what a policy closes across it', async () => {
    const { code, stdout } = await heddle(
      'plan',
      '--manifests',
      CONNECT,
      '--reach',
      policy,
      '--json',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      opens: [],
      closes: [{ from: 'blue/web', to: 'green/web', ports: ['everything but tcp 80'], pairs: 1 }],
      opensWays: [],
      closesWays: [],
      notes: [],
    });
    expect(code).toBe(2);
  });

  test('counts the pods that come of a workload', async () => {
    const workload = file(
      'workload.yaml',
      `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: blue}
spec:
  replicas: 3
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: api}]}
`,
    );
    const { code, stdout, stderr } = await heddle(
      'plan',
      '--manifests',
      CONNECT,
      '--reach',
      workload,
    );
    expect(stderr).toBe('');
    expect(stdout).toMatchInlineSnapshot(`
      "opens 5 pairs, closes 0 pairs
        + blue/api → blue/web everything
        + blue/api → green/web everything
        + blue/api → outside 0.0.0.0/0 everything
        + blue/web → blue/api everything
        + green/web → blue/api everything
      "
    `);
    expect(code).toBe(2);
  });

  test('of what is there already is nothing', async () => {
    const same = file('same.yaml', connection);
    const { code, stdout } = await heddle('plan', '--manifests', CONNECT, '--reach', same);
    expect(stdout).toBe('opens 0 pairs, closes 0 pairs\n');
    expect(code).toBe(0);
  });

  test.each([
    ['kind: NetworkPolicy\n', 65, 'apiVersion'],
    [
      'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\nspec: {podSelector: 1}\n',
      65,
      'spec.podSelector',
    ],
  ])('refuses %j', async (text, exit, what) => {
    const wrong = file('wrong.yaml', text);
    const { code, stdout, stderr } = await heddle('plan', '--manifests', CONNECT, '--reach', wrong);
    expect(stderr).toContain(what);
    expect(stdout).toBe('');
    expect(code).toBe(exit);
  });

  test('names what it passes over, and a kind that is misspelt or a file without objects as mistakes', async () => {
    const plan = async (text: string) =>
      heddle('plan', '--manifests', CONNECT, '--reach', file('other.yaml', text));
    const other = await plan(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: blue}\n',
    );
    expect(other.stdout).toContain('note objects of kind ConfigMap are passed over');
    expect(other.code).toBe(0);
    const deployment = await plan(
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: blue}\n',
    );
    expect(deployment.stderr).toContain('Deployment blue/web: spec.template.spec: is required');
    expect(deployment.code).toBe(65);
    const typo = await plan(
      'apiVersion: networking.k8s.io/v1\nkind: NetworkPolcy\nmetadata: {name: a, namespace: blue}\n',
    );
    expect(typo.stderr).toMatch(/manifests with errors: \/.*did you mean kind NetworkPolicy/);
    expect(typo.code).toBe(65);
    const empty = await plan('# nothing\n');
    expect(empty.stderr).toContain('holds no object');
    expect(empty.code).toBe(65);
  });

  test('names a file that is not there', async () => {
    const { code, stderr } = await heddle('plan', '--manifests', CONNECT, '--reach', '/no/file');
    expect(stderr).toContain("/no/file can't be read");
    expect(code).toBe(64);
  });
});

describe('heddle validate --reach', () => {
  test('needs nothing but what is stored now', async () => {
    const { code, stdout } = await heddle('validate', '--reach', '--old', CONNECT, policy);
    expect(stdout).toContain('1 object in 1 file: 0 errors, 0 warnings\n');
    expect(stdout).toContain('opens 0 pairs, closes 1 pair\n');
    expect(stdout).toContain('  - blue/web → green/web everything but tcp 80\n');
    expect(code).toBe(0);
  });

  test('of standard input is refused: it is read once', async () => {
    const { code, stderr } = await heddle('validate', '--reach', '--old', CONNECT, '-');
    expect(stderr).toContain('name a file');
    expect(code).toBe(64);
  });

  test('without that is refused', async () => {
    const { code, stderr } = await heddle('validate', '--reach', policy);
    expect(stderr).toContain('--old');
    expect(code).toBe(64);
  });
});

describe('heddle explain --who', () => {
  const who = (...args: readonly string[]) =>
    heddle('explain', '--manifests', CONNECT, '--who', ...args);

  test('names everybody who may send something to a pod', async () => {
    const { code, stdout, stderr } = await who('green/web');
    expect(stderr).toBe('');
    expect(stdout).toMatchInlineSnapshot(`
      "Pod green/web on network green_net: reached by
        blue/web everything
        networks blue_net, green_net: pods and services (ClusterNetworkConnect blue-green)
      "
    `);
    expect(code).toBe(0);
  });

  test.each([
    [['green/nobody'], 'there is no pod "green/nobody"'],
    [['green/web', 'blue/web'], 'takes a pod alone'],
    [['web'], 'web'],
  ])('%j is refused', async (args, why) => {
    const { code, stdout, stderr } = await who(...args);
    expect(stderr).toContain(why);
    expect(stdout).toBe('');
    expect(code).toBe(64);
  });
});

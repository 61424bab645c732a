import { expect, test } from 'vitest';
import { endOfLog, programsOf } from '../../../src/bundle/contents.ts';

const ALL = {
  nb: 'ssl:10.0.0.1:6641,ssl:10.0.0.2:6641',
  sb: 'unix:/run/ovn/ovnsb_db.sock',
  ovs: 'unix:/run/openvswitch/db.sock',
  tls: ['--private-key=/k', '--certificate=/c', '--ca-cert=/ca'],
  bridges: ['br-int', 'breth0'],
};
const commands = (places: Parameters<typeof programsOf>[0]): readonly string[] =>
  programsOf(places).map(({ argv }) => argv.join(' '));

test('databases, flows, daemons and the host, each in a file of its own', () => {
  const files = programsOf(ALL).map(({ file }) => file);
  expect(new Set(files).size).toBe(files.length);
  expect(new Set(files.map((file) => file.split('/')[0]))).toEqual(
    new Set(['databases', 'daemons', 'openflow', 'host']),
  );
  expect(commands(ALL)).toContain(
    `ovsdb-client ${ALL.tls.join(' ')} --no-leader-only --format=json dump ${ALL.nb} OVN_Northbound`,
  );
  expect(commands(ALL)).toContain('ovs-ofctl -O OpenFlow15 dump-flows breth0');
});

test('without a database nothing is asked of it, and without Open vSwitch nothing of the host', () => {
  const { nb, tls } = ALL;
  const found = commands({ nb, tls, bridges: [] });
  expect(found.filter((command) => /sbctl|vsctl|ofctl|^ip |^nft /.test(command))).toEqual([]);
  expect(found.join('\n')).toContain('ovn-nbctl');
});

test('a bridge with a name that a program could take for something else is not asked for', () => {
  const bridges = ['-x', 'tcp:10.0.0.1:6653', '../br', 'br ex', ''];
  expect(
    programsOf({ ...ALL, bridges }).filter(({ file }) => file.startsWith('openflow/')),
  ).toEqual([]);
});

test('of a log the end, under its name', () => {
  expect(endOfLog('ovn', '/var/log/ovn/ovn-northd.log')).toEqual({
    file: 'logs/ovn/ovn-northd.log',
    argv: ['tail', '--bytes', '4194304', '--', '/var/log/ovn/ovn-northd.log'],
  });
});

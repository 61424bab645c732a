/** EgressIPs on this machine's kernel: in local gateway mode networks of users leave by VRFs, which it need not have. */
import { describeEgressIps } from '../support/lab/egress-ips.ts';
import { SPACES } from '../support/lab/network-spaces.ts';

describeEgressIps({ mode: 'shared', spaces: SPACES, kind: 'host' });
describeEgressIps({ mode: 'local', spaces: ['plain'], kind: 'host' });

import { testCluster } from "../support/cluster_cases.ts";

testCluster("redis");

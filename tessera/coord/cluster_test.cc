// Spec 1.2 (errors of initialization) and 1.3 (launchers' environments).

#include "tessera/coord/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::coord {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

std::string message(const Status& status) { return std::string(from_absl(status.message())); }

const Environment kOpenMpi = {
    {"OMPI_MCA_orte_hnp_uri", "1531576320.0;tcp://203.0.113.1,198.51.100.1:34911"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_RANK", "2"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Environment kSlurm = {{"SLURM_JOB_ID", "5000"},
                            {"SLURM_STEP_NODELIST", "node001"},
                            {"SLURM_NTASKS", "8"},
                            {"SLURM_PROCID", "3"},
                            {"SLURM_LOCALID", "1"}};
const Environment kKubernetes = {{"KUBERNETES_SERVICE_HOST", "203.0.113.7"},
                                 {"JOB_COMPLETION_INDEX", "3"},
                                 {"TESSERA_NUM_PROCESSES", "4"}};
constexpr char kPod[] = "trial-3.trial-svc.default.svc.cluster.local";

Environment joined(Environment a, const Environment& b) {
  a.insert(b.begin(), b.end());
  return a;
}
Environment without(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}
Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

Result<std::optional<ClusterSpec>> found(const Environment& environment,
                                         const std::string& host_name = kPod,
                                         ClusterConfig config = {}) {
  RETURN_IF_ERROR(config.fill_from(environment));
  return find_cluster(config, {.environment = environment, .host_name = host_name});
}
std::string error(const Environment& environment, const std::string& host_name = kPod) {
  return message(found(environment, host_name).status());
}

TEST(Spec12Cluster, IsNoneWhereNothingSaysSo) { EXPECT_EQ(*found({}), std::nullopt); }

TEST(Spec12Cluster, SaysWhatIsMissingInThreeWays) {
  const Environment all = {{"TESSERA_COORDINATOR_ADDRESS", "host:1234"},
                           {"TESSERA_NUM_PROCESSES", "4"},
                           {"TESSERA_PROCESS_ID", "1"}};
  EXPECT_EQ(**found(all), (ClusterSpec{"flags", "host:1234", 4, 1, std::nullopt}));
  EXPECT_THAT(error(without(all, "TESSERA_COORDINATOR_ADDRESS")),
              HasSubstr("the coordinator's address is not known"));
  EXPECT_THAT(error(without(all, "TESSERA_NUM_PROCESSES")),
              HasSubstr("the number of processes is not known"));
  EXPECT_THAT(error(without(all, "TESSERA_PROCESS_ID")),
              HasSubstr("which process this is is not known"));
}

TEST(Spec12Cluster, RefusesNumbersOutsideTheCountAndWordsForNumbers) {
  const Environment all = {{"TESSERA_COORDINATOR_ADDRESS", "host:1234"},
                           {"TESSERA_NUM_PROCESSES", "4"},
                           {"TESSERA_PROCESS_ID", "4"}};
  EXPECT_THAT(error(all), AllOf(HasSubstr("process 4 of 4"), HasSubstr("required: from 0 to 3")));
  EXPECT_THAT(error(with(all, "TESSERA_PROCESS_ID", "-1")), HasSubstr("required: from 0 to 3"));
  EXPECT_THAT(error(with(all, "TESSERA_PROCESS_ID", "4294967296")), HasSubstr("from 0 to 3"));
  EXPECT_THAT(error(with(all, "TESSERA_PROCESS_ID", "one")),
              HasSubstr("TESSERA_PROCESS_ID is 'one'; required: an integer"));
  EXPECT_THAT(error(with(all, "TESSERA_NUM_PROCESSES", "0")), HasSubstr("at least 1"));
  const Environment second = with(all, "TESSERA_PROCESS_ID", "1");
  EXPECT_THAT(error(with(second, "TESSERA_COORDINATOR_ADDRESS", "host")),
              HasSubstr("'host' is no address"));
}

TEST(Spec13Cluster, FindsTheFirstHostOfSlurmsLists) {
  EXPECT_EQ(*first_host("a"), "a");
  EXPECT_EQ(*first_host("a,b"), "a");
  EXPECT_EQ(*first_host("n[001-015],b"), "n001");
  EXPECT_EQ(*first_host("n[001,007-015],b"), "n001");
  EXPECT_EQ(*first_host("rack[2-3]n[07,09].example"), "rack2n07.example");
  EXPECT_FALSE(first_host("").ok());
  EXPECT_FALSE(first_host("n[001-").ok());
  EXPECT_FALSE(first_host(",a").ok());
}

TEST(Spec13Cluster, IsFoundUnderSlurm) {
  for (const auto& [list, host] :
       {std::pair("a", "a"), std::pair("a,b", "a"), std::pair("n[001-015],b", "n001"),
        std::pair("n[001,007-015],b", "n001")}) {
    EXPECT_EQ(
        **found(with(kSlurm, "SLURM_STEP_NODELIST", list)),
        (ClusterSpec{"slurm", std::string(host) + ":62344", 8, 3, 1}));  // 61440 + 5000 - 4096
  }
}

TEST(Spec13Cluster, IsNotFoundWhereSlurmsVariablesAreHalfSet) {
  for (const auto& [name, value] : kSlurm) {
    EXPECT_EQ(*found(without(kSlurm, name)), std::nullopt) << name;
    EXPECT_EQ(*found(with(kSlurm, name, "")), std::nullopt) << name;
  }
  EXPECT_THAT(error(with(kSlurm, "SLURM_PROCID", "x")), HasSubstr("SLURM_PROCID is 'x'"));
  EXPECT_THAT(error(with(kSlurm, "SLURM_PROCID", "8")),
              AllOf(HasSubstr("process 8 of 8"), HasSubstr("TESSERA_PROCESS_ID")));
  EXPECT_THAT(error(with(kSlurm, "SLURM_NTASKS", "-4294967292")),
              HasSubstr("TESSERA_NUM_PROCESSES"));
  EXPECT_EQ(half_a_launcher(without(without(kSlurm, "SLURM_PROCID"), "SLURM_LOCALID")),
            "Slurm is there, but not SLURM_PROCID, SLURM_LOCALID, which a task of srun's has");
  EXPECT_EQ(half_a_launcher(kSlurm), "");
  EXPECT_EQ(half_a_launcher({}), "");
}

TEST(Spec13Cluster, IsFoundUnderOpenMpi) {
  // 1531576320 / 4096 = 373920, which is 1184 modulo 4096.
  EXPECT_EQ(**found(kOpenMpi), (ClusterSpec{"openmpi", "203.0.113.1:62624", 4, 2, 1}));
  EXPECT_EQ((*found(with(kOpenMpi, "OMPI_MCA_orte_hnp_uri",
                         "1314521088.0;tcp6://[2001:db8::9,2001:db8::3000:2]:43370")))
                ->coordinator,
            "[2001:db8::9]:62880");  // 1314521088 / 4096 is 320928: 1440 modulo 4096
  EXPECT_THAT(error(with(kOpenMpi, "OMPI_MCA_orte_hnp_uri", "nonsense")),
              HasSubstr("not of the form"));
  EXPECT_THAT(error(without(kOpenMpi, "OMPI_COMM_WORLD_RANK")),
              HasSubstr("OMPI_COMM_WORLD_RANK is not set"));
}

TEST(Spec13Cluster, IsFoundUnderKubernetes) {
  EXPECT_EQ(**found(kKubernetes),
            (ClusterSpec{"kubernetes", "trial-0.trial-svc:55527", 4, 3, std::nullopt}));
  // A JobSet's pod.
  EXPECT_EQ((*found(kKubernetes, "run-workers-0-3.run.default.svc.cluster.local"))->coordinator,
            "run-workers-0-0.run:55527");
  EXPECT_EQ(
      (*found(with(kKubernetes, "TESSERA_KUBERNETES_SUBDOMAIN", "svc"), "trial-3"))->coordinator,
      "trial-0.svc:55527");
}

TEST(Spec13Cluster, SaysWhatAKubernetesJobLacks) {
  EXPECT_EQ(*found({{"KUBERNETES_SERVICE_HOST", "203.0.113.7"}}), std::nullopt);
  EXPECT_THAT(error(without(kKubernetes, "JOB_COMPLETION_INDEX")),
              HasSubstr("completionMode: Indexed"));
  EXPECT_THAT(error(without(kKubernetes, "TESSERA_NUM_PROCESSES")),
              HasSubstr("- name: TESSERA_NUM_PROCESSES"));
  EXPECT_THAT(error(kKubernetes, "trial-3"), HasSubstr("subdomain: trial\n"));
  EXPECT_THAT(error(kKubernetes, "elsewhere.svc"), HasSubstr("does not end in"));
}

TEST(Spec13Cluster, IsLookedForInOrder) {
  EXPECT_EQ((*found(joined(joined(kOpenMpi, kSlurm), kKubernetes)))->method, "openmpi");
  EXPECT_EQ((*found(joined(kSlurm, kKubernetes)))->method, "slurm");
  ClusterConfig chosen;
  chosen.cluster_detection = "kubernetes";
  EXPECT_EQ((*found(joined(kOpenMpi, kKubernetes), kPod, chosen))->method, "kubernetes");
  chosen.cluster_detection = "off";
  EXPECT_EQ(*found(kSlurm, kPod, chosen), std::nullopt);
  EXPECT_EQ(*found(with(kSlurm, "TESSERA_CLUSTER_DETECTION", "off")), std::nullopt);
  EXPECT_THAT(error(with(kSlurm, "TESSERA_CLUSTER_DETECTION", "pbs")), HasSubstr("is 'pbs'"));
  chosen.cluster_detection = "openmpi";
  EXPECT_THAT(message(found(kSlurm, kPod, chosen).status()), HasSubstr("--cluster-detection is"));
}

TEST(Spec13Cluster, IsWhatFlagsSayFirst) {
  ClusterConfig flags;
  flags.process_id = 5;
  flags.coordinator_address = "other:77";
  const auto spec = *found(with(kSlurm, "TESSERA_PROCESS_ID", "6"), kPod, flags);
  EXPECT_EQ(*spec, (ClusterSpec{"slurm", "other:77", 8, 5, 1}));
  EXPECT_EQ((*found(with(kSlurm, "TESSERA_COORDINATOR_PORT", "7000")))->coordinator,
            "node001:7000");
  EXPECT_THAT(error(with(kSlurm, "TESSERA_COORDINATOR_PORT", "70000")), HasSubstr("65535"));
  // With all three given, no launcher is looked at, however odd its variables are.
  flags.num_processes = 9;
  EXPECT_EQ((*found(with(kOpenMpi, "OMPI_MCA_orte_hnp_uri", "nonsense"), kPod, flags))->method,
            "flags");
}

}  // namespace
}  // namespace tessera::coord

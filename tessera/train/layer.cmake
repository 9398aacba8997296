# Checkpoints say which version wrote them, and processes compare theirs; two files, so that a new version does not compile the layer
# anew.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/run_checkpoints.cc ${CMAKE_CURRENT_LIST_DIR}/same_run.cc
                            PROPERTIES COMPILE_DEFINITIONS TESSERA_VERSION="${PROJECT_VERSION}")
